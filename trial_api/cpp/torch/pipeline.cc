#include "trial_api/cpp/torch/pipeline.h"

#include <algorithm>
#include <utility>

#include "base/rng.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/torch/collectives.h"
#include "trial_api/cpp/torch/optimizer_state.h"
#include "trial_api/cpp/torch/random_source.h"
#include "trial_api/cpp/torch/trial_context.h"

namespace det::trial {
namespace {

bool IsTrainable(const torch::nn::Module& model) {
  const std::vector<torch::Tensor> parameters = model.parameters();
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const torch::Tensor& parameter) { return parameter.requires_grad(); });
}

}  // namespace

Pipeline::Pipeline(TrialContext& context, int64_t micro_batches)
    : context_(context),
      micro_batches_(micro_batches),
      wire_(std::make_shared<Wire>(context.core().communicator())) {
  // Random numbers that a Trial draws outside of its net must be the same on all ranks, because all
  // have the same records.
  SeedTorch(context.seed(), 0);
}

Communicator& Pipeline::communicator() const { return context_.core().communicator(); }

torch::nn::Sequential Pipeline::Partition(torch::nn::Sequential whole) {
  if (!IsTrainable(*whole)) return whole;  // Not divided: every rank has the whole module.
  const Ranks& ranks = context_.ranks();
  nets_.push_back({whole, PartitionIntoStages(*whole, ranks.size)});
  const std::vector<Stage>& stages = nets_.back().stages;
  for (size_t rank = 0; rank < stages.size(); ++rank) {
    for (const torch::Tensor& tensor : GetTensors(*whole, stages[rank])) {
      rank_of_[tensor.unsafeGetTensorImpl()] = static_cast<int>(rank);
    }
  }
  KeepOnHost(nets_.back());
  torch::nn::Sequential cut;
  cut->push_back("pipe", Pipe(*whole,
                              PipeImpl::Options{.stages = stages,
                                                .ranks = ranks,
                                                .micro_batches = micro_batches_,
                                                .seed = [this] { return NextSeed(); }},
                              wire_));
  return cut;
}

void Pipeline::RequirePartition(const torch::nn::Module& model) const {
  if (!IsTrainable(model)) return;
  throw Error(
      "optimizations.strategy pipeline divides a torch::nn::Sequential into stages, but "
      "wrap_model() was called with " +
      model.name() + "; use a Sequential or another strategy");
}

void Pipeline::KeepOnHost(const Net& net) const {
  for (size_t rank = 0; rank < net.stages.size(); ++rank) {
    if (static_cast<int>(rank) == context_.ranks().rank) continue;
    for (size_t i = net.stages[rank].begin; i < net.stages[rank].end; ++i) {
      (*net.whole)[i]->to(torch::kCPU);
    }
  }
}

uint64_t Pipeline::NextSeed() {
  const int64_t batch = context_.steps_completed();
  passes_ = seeded_at_ == batch ? passes_ + 1 : 0;
  seeded_at_ = batch;
  return base::Rng(context_.seed())
      .Split(static_cast<uint64_t>(context_.ranks().rank))
      .Split(static_cast<uint64_t>(batch))
      .Split(passes_)
      .Next();
}

bool Pipeline::AllFinite(bool own) { return !AnyRank(communicator(), !own); }

void Pipeline::ClipGradients(torch::optim::Optimizer& optimizer, const Clip& clip) {
  clip_gradients(optimizer, clip, [this](double squares) {
    communicator().AllReduceSum(&squares, 1, DType::kFloat64);
    return squares;
  });
}

bool Pipeline::AfterBatch(int64_t, bool want_stop) { return AnyRank(communicator(), want_stop); }

void Pipeline::Synchronize() {
  for (Net& net : nets_) {
    for (size_t rank = 0; rank < net.stages.size(); ++rank) {
      const std::vector<torch::Tensor> tensors = GetTensors(*net.whole, net.stages[rank]);
      if (!tensors.empty()) Broadcast(communicator(), tensors, static_cast<int>(rank));
    }
  }
}

std::vector<int> Pipeline::Writers(const std::vector<torch::Tensor>& parameters) const {
  std::vector<int> writers;
  for (const torch::Tensor& parameter : parameters) {
    const auto found = rank_of_.find(parameter.unsafeGetTensorImpl());
    writers.push_back(found == rank_of_.end() ? 0 : found->second);
  }
  return writers;
}

bool Pipeline::StepsWith(const torch::Tensor& parameter) const {
  return Writers({parameter}).front() == context_.ranks().rank;
}

void Pipeline::Release() {
  for (const auto& optimizer : context_.optimizers()) {
    const std::vector<torch::Tensor> parameters = GetParameters(*optimizer);
    const std::vector<int> owners = Writers(parameters);
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (owners[i] != context_.ranks().rank) ForgetState(*optimizer, parameters[i]);
    }
  }
  for (const Net& net : nets_) KeepOnHost(net);
}

}  // namespace det::trial
