#include "trial_api/cpp/torch/all_reduce.h"

#include <map>
#include <string>
#include <utility>

#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/core/hierarchical_communicator.h"
#include "trial_api/cpp/core/nccl_communicator.h"
#include "trial_api/cpp/torch/collectives.h"
#include "trial_api/cpp/torch/optimizer_state.h"
#include "trial_api/cpp/torch/trial_context.h"

namespace det::trial {
namespace {

GradientReducer::NamedParameters GetNamedParameters(const TrialContext& context) {
  GradientReducer::NamedParameters parameters;
  for (size_t i = 0; i < context.models().size(); ++i) {
    for (const auto& item : context.models()[i]->named_parameters()) {
      parameters.emplace_back(item.key() + " of model " + std::to_string(i), item.value());
    }
  }
  return parameters;
}

int64_t GradientBytes(const GradientReducer::NamedParameters& parameters) {
  size_t bytes = 0;
  for (const auto& [name, parameter] : parameters) {
    if (parameter.requires_grad()) bytes += parameter.nbytes();
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace

AllReduce::AllReduce(TrialContext& context, const Optimizations& optimizations,
                     BucketTuner::Clock clock)
    : context_(context), optimizations_(optimizations), clock_(std::move(clock)) {
  const torch::Device device = context.device();
  if (device.is_cuda()) {
    gpu_communicator_ =
        core::ConnectNccl(context.core().communicator(), device.index(), core::MakeNcclApi());
  }
  if (optimizations.hierarchical_allreduce) {
    hierarchical_ = core::MakeHierarchicalCommunicator(gradient_communicator());
  }
}

AllReduce::~AllReduce() = default;

Communicator& AllReduce::slot_communicator() const {
  return gpu_communicator_ ? *gpu_communicator_ : context_.core().communicator();
}

Communicator& AllReduce::gradient_communicator() const {
  return hierarchical_ ? *hierarchical_ : slot_communicator();
}

BucketLimits AllReduce::Limits() const {
  BucketLimits limits;
  if (tuner_) {
    limits.other_bytes = tuner_->bytes();
  } else if (optimizations_.bucket_bytes) {
    limits.other_bytes = *optimizations_.bucket_bytes;
  }
  return limits;
}

void AllReduce::MakeReducer() {
  const GradientReducer::NamedParameters parameters = GetNamedParameters(context_);
  if (optimizations_.auto_tune_tensor_fusion && !tuner_) {
    tuner_ =
        std::make_unique<BucketTuner>(BucketTuner::Candidates(GradientBytes(parameters)), clock_);
  }
  if (reducer_) left_out_ = reducer_->GetResiduals();
  reducer_.reset();
  reducer_ =
      std::make_unique<GradientReducer>(gradient_communicator(), parameters, Limits(),
                                        optimizations_.gradient_compression, Owners(parameters));
  reducer_->SetResiduals(left_out_);
  left_out_.clear();
}

void AllReduce::Backward(const torch::Tensor& loss, bool want_stop) {
  if (!reducer_ || std::exchange(remake_, false)) MakeReducer();
  const bool tried = tuner_ && !tuner_->done();
  if (tried) tuner_->Begin();
  reducer_->Prepare(want_stop);
  loss.backward();
  stop_ = reducer_->Finish() || stop_;
  stop_exchanged_ = true;
  if (tried && tuner_->End(context_.core().communicator())) remake_ = true;
}

bool AllReduce::AfterBatch(int64_t, bool want_stop) {
  if (!stop_exchanged_) stop_ = AnyRank(context_.core().communicator(), want_stop);
  stop_exchanged_ = false;
  return std::exchange(stop_, false);
}

std::vector<torch::Tensor> AllReduce::GetResiduals() const {
  return reducer_ ? reducer_->GetResiduals() : left_out_;
}

bool AllReduce::SetResiduals(const std::vector<torch::Tensor>& left_out) {
  if (optimizations_.gradient_compression != Optimizations::Compression::kInt8) return false;
  left_out_ = left_out;
  return true;
}

ShardedAllReduce::ShardedAllReduce(TrialContext& context, const Optimizations& optimizations,
                                   BucketTuner::Clock clock)
    : AllReduce(context, optimizations, std::move(clock)),
      can_shard_gradients_(optimizations.gradient_compression !=
                               Optimizations::Compression::kInt8 &&
                           !optimizations.hierarchical_allreduce),
      parts_(context, slot_communicator(),
             [&context](const std::vector<torch::Tensor>& parameters) {
               return BalancedOwners(parameters, context.ranks().size);
             }) {}

Communicator& ShardedAllReduce::host_communicator() const { return context_.core().communicator(); }

std::vector<int> ShardedAllReduce::Owners(const GradientReducer::NamedParameters& parameters) {
  std::map<const void*, int> owner_of;
  sharded_gradients_ = can_shard_gradients_;
  for (const auto& optimizer : context_.optimizers()) {
    const std::vector<torch::Tensor> own = GetParameters(*optimizer);
    const std::vector<int> owners = parts_.GetOwners(own);
    for (size_t i = 0; i < own.size(); ++i) {
      const bool first = owner_of.emplace(own[i].unsafeGetTensorImpl(), owners[i]).second;
      sharded_gradients_ = sharded_gradients_ && first;
    }
  }
  std::vector<int> owners;
  if (!sharded_gradients_) return owners;
  for (const auto& [name, parameter] : parameters) {
    // A parameter without optimizer needs no owner.
    const auto known = owner_of.find(parameter.unsafeGetTensorImpl());
    owners.push_back(known == owner_of.end() ? 0 : known->second);
  }
  return owners;
}

bool ShardedAllReduce::BeforeStep(torch::optim::Optimizer& optimizer) {
  if (!sharded_gradients_) return true;
  std::vector<torch::Tensor> parameters = GetParameters(optimizer);
  const std::vector<int> owners = parts_.GetOwners(parameters);
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (owners[i] != context_.ranks().rank) parameters[i].mutable_grad().reset();
  }
  return true;
}

bool ShardedAllReduce::AllFinite(bool own) {
  return sharded_gradients_ ? !AnyRank(host_communicator(), !own) : own;
}

void ShardedAllReduce::ClipGradients(torch::optim::Optimizer& optimizer, const Clip& clip) {
  if (!sharded_gradients_) return AllReduce::ClipGradients(optimizer, clip);
  clip_gradients(optimizer, clip, [this](double squares) {
    const torch::Tensor sum = torch::full({1}, squares, torch::kFloat64);
    Sum(host_communicator(), sum);
    return sum.item<double>();
  });
}

void ShardedAllReduce::Step(torch::optim::Optimizer& optimizer) { parts_.Step(optimizer); }

void ShardedAllReduce::AfterStep(torch::optim::Optimizer& optimizer) {
  parts_.SendWeights(optimizer);
}

}  // namespace det::trial
