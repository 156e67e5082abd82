#include "trial_api/cpp/torch/pipe.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "trial_api/cpp/core/error.h"
#include <ATen/Context.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

namespace det::trial {
namespace {

using torch::autograd::variable_list;

// The best division of the first modules into some stages; nullopt: there is none.
struct Division {
  int64_t largest = 0;  // parameters of the largest stage
  std::vector<size_t> begins;
};

struct Weight {
  int64_t parameters = 0;
  bool trains = false;
};

// Computes the division of the first `end` modules with one stage more than `before`.
std::optional<Division> WithLastStage(const std::vector<std::optional<Division>>& before,
                                      const std::vector<Weight>& modules, size_t end) {
  std::optional<Division> best;
  Weight last;
  for (size_t begin = end; begin-- > 0;) {
    last.parameters += modules[begin].parameters;
    last.trains = last.trains || modules[begin].trains;
    if (!before[begin] || !last.trains) continue;
    const int64_t largest = std::max(before[begin]->largest, last.parameters);
    if (best && best->largest <= largest) continue;
    best = before[begin];
    best->largest = largest;
    best->begins.push_back(begin);
  }
  return best;
}

std::vector<Weight> CountWeights(torch::nn::SequentialImpl& whole) {
  std::vector<Weight> modules;
  for (const auto& module : whole) {
    Weight weight;
    for (const torch::Tensor& parameter : module.ptr()->parameters()) {
      weight.parameters += parameter.numel();
      weight.trains = weight.trains || parameter.requires_grad();
    }
    modules.push_back(weight);
  }
  return modules;
}

void RequireNothingShared(torch::nn::SequentialImpl& whole, const std::vector<Stage>& stages) {
  std::map<const c10::TensorImpl*, size_t> stage_of;
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    for (size_t i = stages[stage].begin; i < stages[stage].end; ++i) {
      for (const auto& item :
           (whole.begin() + static_cast<std::ptrdiff_t>(i))->ptr()->named_parameters()) {
        const auto [known, added] = stage_of.emplace(item.value().unsafeGetTensorImpl(), stage);
        if (known->second == stage) continue;
        throw Error("parameter " + item.key() + " of module " + std::to_string(i) +
                    " is shared by modules in different stages of optimizations.strategy pipeline; "
                    "use separate parameters or fewer slots");
      }
    }
  }
}

// Uses a separate random number generator during its lifetime, on the device of a stage.
class ForkedRandom {
 public:
  ForkedRandom(torch::Device device, uint64_t seed)
      : generator_(at::globalContext().defaultGenerator(device)) {
    const std::lock_guard lock(generator_.mutex());
    before_ = generator_.get_state();
    generator_.set_current_seed(seed);
  }
  ~ForkedRandom() {
    const std::lock_guard lock(generator_.mutex());
    generator_.set_state(before_);
  }
  ForkedRandom(const ForkedRandom&) = delete;
  ForkedRandom& operator=(const ForkedRandom&) = delete;

 private:
  at::Generator generator_;
  torch::Tensor before_;
};

// Passes the backward pass of received tensors to a function, once.
class ContinueBackward final : public torch::autograd::Node {
 public:
  explicit ContinueBackward(std::function<void(const torch::Tensor&)> by) : by_(std::move(by)) {}

  variable_list apply(variable_list&& gradients) override {
    const auto by = std::exchange(by_, nullptr);
    if (!by)
      throw Error(
          "backward() called a second time through a pipeline: the stages have freed their "
          "intermediate results");
    by(gradients.at(0));
    return {};
  }
  void release_variables() override { by_ = nullptr; }

 private:
  std::function<void(const torch::Tensor&)> by_;
};

void RequireRows(const torch::Tensor& tensor, const std::string& what) {
  if (tensor.defined() && tensor.dim() > 0) return;
  throw Error(what +
              " of optimizations.strategy pipeline is not a tensor with a row for each record");
}

}  // namespace

std::vector<Stage> PartitionIntoStages(torch::nn::SequentialImpl& whole, int stages) {
  const std::vector<Weight> modules = CountWeights(whole);
  std::vector<std::optional<Division>> best(modules.size() + 1);
  best[0] = Division();
  for (int stage = 0; stage < stages; ++stage) {
    std::vector<std::optional<Division>> next(modules.size() + 1);
    for (size_t end = 1; end <= modules.size(); ++end)
      next[end] = WithLastStage(best, modules, end);
    best = std::move(next);
  }
  if (!best.back()) {
    const auto training =
        std::count_if(modules.begin(), modules.end(), [](const Weight& w) { return w.trains; });
    throw Error(
        "optimizations.strategy pipeline on " + std::to_string(stages) +
        " slots needs as many stages, but only " + std::to_string(training) +
        " modules of the Sequential have parameters that train; use fewer slots or more modules");
  }
  std::vector<Stage> cut;
  for (const size_t begin : best.back()->begins) {
    if (!cut.empty()) cut.back().end = begin;
    cut.push_back({begin, modules.size()});
  }
  RequireNothingShared(whole, cut);
  return cut;
}

std::vector<torch::Tensor> GetTensors(torch::nn::SequentialImpl& whole, const Stage& stage) {
  std::vector<torch::Tensor> tensors;
  for (size_t i = stage.begin; i < stage.end; ++i) {
    const auto module = (whole.begin() + static_cast<std::ptrdiff_t>(i))->ptr();
    for (const torch::Tensor& parameter : module->parameters()) tensors.push_back(parameter);
    for (const torch::Tensor& buffer : module->buffers()) tensors.push_back(buffer);
  }
  return tensors;
}

PipeImpl::PipeImpl(torch::nn::SequentialImpl& whole, const Options& options,
                   std::shared_ptr<Wire> wire)
    : options_(options), wire_(std::move(wire)) {
  const Stage& own = options.stages.at(static_cast<size_t>(options.ranks.rank));
  own_.assign(whole.begin() + static_cast<std::ptrdiff_t>(own.begin),
              whole.begin() + static_cast<std::ptrdiff_t>(own.end));
  for (const auto& child : whole.named_children()) register_module(child.key(), child.value());
}

torch::Tensor PipeImpl::forward(torch::Tensor batch) {
  RequireRows(batch, "the input batch of a model");
  if (batch.requires_grad()) {
    throw Error(
        "the input batch of a model with optimizations.strategy pipeline requires a gradient, "
        "which is not computed beyond the first stage; make the modules that compute the batch "
        "part of the "
        "Sequential");
  }
  std::vector<MicroBatch> kept;
  {
    const ForkedRandom of_stage(batch.device(), options_.seed());
    kept = Compute(batch);
  }
  torch::Tensor out;
  if (is_last()) {
    std::vector<torch::Tensor> parts;
    for (const MicroBatch& part : kept) parts.push_back(part.out.detach());
    out = torch::cat(parts);
  }
  out = wire_->Broadcast(out, options_.ranks.size - 1, batch.device());
  if (!torch::GradMode::is_enabled() || !out.is_floating_point()) return out;
  const auto self = std::static_pointer_cast<PipeImpl>(shared_from_this());
  torch::autograd::set_history(out,
                               std::make_shared<ContinueBackward>(
                                   [self, kept = std::move(kept)](const torch::Tensor& gradient) {
                                     self->SendBack(kept, gradient);
                                   }));
  return out;
}

std::vector<PipeImpl::MicroBatch> PipeImpl::Compute(const torch::Tensor& batch) {
  const int64_t records = batch.size(0);
  const int64_t count = std::max<int64_t>(1, std::min(options_.micro_batches, records));
  std::vector<MicroBatch> kept;
  for (int64_t i = 0; i < count; ++i) {
    torch::Tensor given;
    if (is_first()) {
      given = batch.slice(0, records * i / count, records * (i + 1) / count);
    } else {
      given = wire_->Receive(options_.ranks.rank - 1, batch.device());
      given.set_requires_grad(torch::GradMode::is_enabled() && given.is_floating_point());
    }
    kept.push_back({given, RunStage(given)});
    if (!is_last()) wire_->Send(kept.back().out, options_.ranks.rank + 1);
  }
  return kept;
}

torch::Tensor PipeImpl::RunStage(torch::Tensor given) {
  // A module may work in place, which libtorch rejects for leaf tensors that require a gradient.
  torch::Tensor out = given.requires_grad() ? given.clone() : given;
  for (torch::nn::AnyModule& module : own_) out = module.forward<torch::Tensor>(std::move(out));
  RequireRows(out, "the output of a stage");
  return out;
}

void PipeImpl::SendBack(const std::vector<MicroBatch>& kept, const torch::Tensor& gradient) {
  const int rank = options_.ranks.rank;
  int64_t end = gradient.defined() ? gradient.size(0) : 0;
  for (size_t i = kept.size(); i-- > 0;) {
    const auto& [given, out] = kept[i];
    if (out.is_floating_point()) {
      torch::Tensor part;
      if (!is_last()) {
        part = wire_->Receive(rank + 1, out.device());
      } else {
        part =
            gradient.defined() ? gradient.slice(0, end - out.size(0), end) : torch::zeros_like(out);
        end -= out.size(0);
      }
      if (out.requires_grad()) torch::autograd::backward({out}, {part});
    }
    if (given.requires_grad()) {
      wire_->Send(given.grad().defined() ? given.grad() : torch::zeros_like(given), rank - 1);
    }
  }
}

}  // namespace det::trial
