#include "trial_api/cpp/torch/strategy.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "trial_api/cpp/torch/all_reduce.h"
#include "trial_api/cpp/torch/collectives.h"
#include "trial_api/cpp/torch/optimizer_state.h"
#include "trial_api/cpp/torch/pipeline.h"
#include "trial_api/cpp/torch/state_parts.h"
#include "trial_api/cpp/torch/trial_context.h"

namespace det::trial {
namespace {

// Returns the tensors of all models, each once, including those without gradient that the Trial may
// change.
std::vector<torch::Tensor> Weights(const TrialContext& context) {
  std::vector<torch::Tensor> weights;
  std::set<const c10::TensorImpl*> seen;
  for (const auto& model : context.models()) {
    for (const torch::Tensor& parameter : model->parameters()) {
      const bool averaged = parameter.is_floating_point() && parameter.numel() > 0;
      if (averaged && seen.insert(parameter.unsafeGetTensorImpl()).second) {
        weights.push_back(parameter);
      }
    }
  }
  return weights;
}

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Returns a description of a parameter's state, to compare whether all ranks have the same kind.
std::string Describe(const std::vector<std::pair<std::string, torch::Tensor>>& state) {
  std::string text;
  for (const auto& [name, tensor] : state) {
    text += name + " " + torch::toString(tensor.scalar_type());
    for (const int64_t size : tensor.sizes()) text += " " + std::to_string(size);
    text += ";";
  }
  return text;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// Each rank steps independently; every `period` steps the ranks average. Stich, "Local SGD
// converges fast and communicates little", 2019.
class LocalSgd : public Strategy {
 public:
  LocalSgd(TrialContext& context, int64_t period) : context_(context), period_(period) {}

  bool AfterBatch(int64_t steps, bool want_stop) override {
    differ_ = true;
    if (steps % period_ != 0) return false;
    AverageState();
    return AnyRank(communicator(), want_stop);
  }

  void Synchronize() override {
    if (differ_) AverageState();
  }
  std::vector<int> Writers(const std::vector<torch::Tensor>& parameters) const override {
    return EvenWriters(context_, parameters);
  }

 protected:
  Communicator& communicator() const { return context_.core().communicator(); }

  // Averages the weights and the optimizers' state; the loss scale is that of the chief.
  void AverageState() {
    std::vector<torch::Tensor> tensors = Weights(context_);
    AddState(tensors);
    Average(communicator(), tensors);
    if (context_.scaling()) context_.scaling()->Broadcast(communicator());
    differ_ = false;
  }

  TrialContext& context_;
  const int64_t period_;
  bool differ_ = false;

 private:
  // If the state of a parameter is of different kinds on different ranks, it is reset on all: some
  // rank had no finite gradient of it, and has no state.
  void AddState(std::vector<torch::Tensor>& tensors) {
    std::string text;
    ForEachState([&](auto&, auto&, const auto& state) { text += Describe(state) + "\n"; });
    std::vector<std::vector<std::string>> descriptions;
    for (const std::string& one : communicator().AllGather(text))
      descriptions.push_back(Lines(one));
    size_t line = 0;
    ForEachState([&](auto& optimizer, auto& parameter, const auto& state) {
      bool alike = true;
      for (const auto& lines : descriptions)
        alike = alike && lines.at(line) == descriptions[0].at(line);
      ++line;
      if (!alike) return ForgetState(optimizer, parameter);
      for (const auto& [name, tensor] : state) {
        if (tensor.is_floating_point() && tensor.numel() > 0) tensors.push_back(tensor);
      }
    });
  }

  template <class Visit>
  void ForEachState(const Visit& visit) {
    for (const auto& optimizer : context_.optimizers()) {
      for (const torch::Tensor& parameter : GetParameters(*optimizer)) {
        visit(*optimizer, parameter, GetState(*optimizer, parameter));
      }
    }
  }
};

// A running average; its thread owns it until `done`.
struct Round {
  std::vector<std::vector<torch::Tensor>> chunks;  // chunks of the weights
  std::vector<torch::Tensor> own;                  // the weights when the average started
  std::vector<torch::Tensor> sums;
  bool wish = false;

  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::exception_ptr failure;

  void Run(Communicator& channel) {
    std::exception_ptr caught;
    try {
      torch::NoGradGuard no_grad;
      for (const torch::Tensor& sum : sums) Sum(channel, sum);
      wish = AnyRank(channel, wish);
    } catch (...) {
      caught = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    failure = caught;
    done = true;
    changed.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return done; });
    if (failure) std::rethrow_exception(failure);
  }
};

// Each rank steps independently. Every `period` steps an average of all weights is started, which
// runs concurrently with training, and `period` steps later it is applied: each rank moves by the
// difference between the average and its own weights at that time. So no rank waits for the
// network, the applied average is `period` steps old, and runs are reproducible. Shen et al.,
// "Faster distributed deep net training: computation and communication decoupled stochastic
// gradient descent" (CoCoD-SGD), 2019.
class AsyncAveraging final : public LocalSgd {
 public:
  AsyncAveraging(TrialContext& context, int64_t period)
      : LocalSgd(context, period), channel_(communicator().Duplicate("averages")) {}

  bool AfterBatch(int64_t steps, bool want_stop) override {
    differ_ = true;
    if (steps % period_ == 0) {
      FinishRound();
      Begin(want_stop);
    }
    return std::exchange(stop_, false);
  }

  void Synchronize() override {
    FinishRound();
    LocalSgd::Synchronize();
  }

 private:
  void Begin(bool want_stop) {
    torch::NoGradGuard no_grad;
    round_ = std::make_shared<Round>();
    round_->wish = want_stop;
    round_->chunks = Chunks(Weights(context_));
    for (const auto& chunk : round_->chunks) {
      round_->own.push_back(Flatten(chunk));
      round_->sums.push_back(round_->own.back().clone());
    }
    // The thread may wait for a lost peer, longer than this object exists.
    std::thread([round = round_, channel = channel_] { round->Run(*channel); }).detach();
  }

  void FinishRound() {
    if (!round_) return;
    const std::shared_ptr<Round> round = std::exchange(round_, nullptr);
    round->Wait();
    stop_ = stop_ || round->wish;
    torch::NoGradGuard no_grad;
    for (size_t i = 0; i < round->chunks.size(); ++i) {
      const torch::Tensor move = round->sums[i].div_(context_.ranks().size).sub_(round->own[i]);
      ForEachPart(move, round->chunks[i], [](torch::Tensor weight, const torch::Tensor& part) {
        weight.add_(part.to(weight.device()));
      });
    }
  }

  const std::shared_ptr<Communicator> channel_;
  std::shared_ptr<Round> round_;  // the running average
  bool stop_ = false;
};

// The chief has the optimizers: it receives the mean of all gradients, steps, and sends the weights
// back. Same mathematics as allreduce. Li et al., "Scaling Distributed Machine Learning with the
// Parameter Server", 2014, synchronous.
class ParameterServer final : public Strategy {
 public:
  explicit ParameterServer(TrialContext& context)
      : context_(context),
        parts_(context, context.core().communicator(),
               [](const std::vector<torch::Tensor>& parameters) {
                 return std::vector<int>(parameters.size(), 0);
               }) {}

  bool BeforeStep(torch::optim::Optimizer& optimizer) override {
    AverageTo(communicator(), Gradients(optimizer), 0);
    return context_.ranks().is_chief();
  }
  void AfterStep(torch::optim::Optimizer& optimizer) override { parts_.SendWeights(optimizer); }

  bool AfterBatch(int64_t, bool want_stop) override {
    context_.BroadcastBuffers();  // The next forward pass may read them.
    if (context_.scaling()) context_.scaling()->Broadcast(communicator());
    return AnyRank(communicator(), want_stop);
  }
  void Release() override { parts_.Release(); }

 private:
  Communicator& communicator() const { return context_.core().communicator(); }

  // The gradients of parameters that have one on any rank; a rank that did not use a parameter
  // counts as 0.
  std::vector<torch::Tensor> Gradients(const torch::optim::Optimizer& optimizer) {
    torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> parameters = GetParameters(optimizer);
    std::vector<int32_t> there;
    for (const auto& parameter : parameters) there.push_back(parameter.grad().defined() ? 1 : 0);
    communicator().AllReduceSum(there.data(), there.size(), DType::kInt32);
    std::vector<torch::Tensor> gradients;
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (there[i] == 0) continue;
      torch::Tensor& gradient = parameters[i].mutable_grad();
      if (!gradient.defined()) gradient = torch::zeros_like(parameters[i]);
      gradients.push_back(gradient);
    }
    return gradients;
  }

  TrialContext& context_;
  const StateParts parts_;
};

}  // namespace

std::unique_ptr<Strategy> MakeStrategy(TrialContext& context, const Optimizations& optimizations) {
  if (context.ranks().size == 1) return std::make_unique<Strategy>();
  switch (optimizations.strategy) {
    case Optimizations::Strategy::kAllReduce:
    case Optimizations::Strategy::kInProcess:
      break;
    case Optimizations::Strategy::kPipeline:
      return std::make_unique<Pipeline>(context, optimizations.pipeline_micro_batches);
    case Optimizations::Strategy::kLocalSgd:
      return std::make_unique<LocalSgd>(context, optimizations.local_sgd_steps);
    case Optimizations::Strategy::kAsync:
      return std::make_unique<AsyncAveraging>(context, optimizations.local_sgd_steps);
    case Optimizations::Strategy::kParameterServer:
      return std::make_unique<ParameterServer>(context);
  }
  if (optimizations.shard_optimizer) {
    return std::make_unique<ShardedAllReduce>(context, optimizations, &Seconds);
  }
  return std::make_unique<AllReduce>(context, optimizations, &Seconds);
}

}  // namespace det::trial
