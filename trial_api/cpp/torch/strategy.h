// How the ranks of a trial train one model: `optimizations.strategy`; see README.md in this
// directory.
//
// Between two calls of Synchronize(), the weights of the ranks may differ; after it they are the
// same, as is the state of their optimizers, so that any rank can write the checkpoint.
//
// Owned by TrialContext, used on the training thread. All ranks must make the same calls in the
// same order; functions that communicate throw PeerGone if another rank has ended.
#ifndef TRIAL_API_CPP_TORCH_STRATEGY_H_
#define TRIAL_API_CPP_TORCH_STRATEGY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "trial_api/cpp/torch/clip.h"
#include "trial_api/cpp/torch/optimizations.h"
#include <torch/nn/modules/container/sequential.h>
#include <torch/optim/optimizer.h>
#include <torch/types.h>

namespace det {

class TrialContext;

namespace trial {

// The base class is the strategy for a single rank.
class Strategy {
 public:
  virtual ~Strategy() = default;

  // The backward pass before a step of the optimizers. `want_stop`: see AfterBatch().
  virtual void Backward(const torch::Tensor& loss, bool /*want_stop*/) { loss.backward(); }
  // Returns whether gradients are in memory of the strategy (from the first Backward() on), so that
  // they must be zeroed and not removed. No further model can be wrapped then.
  virtual bool OwnsGradients() const { return false; }

  // Returns whether each rank gets the whole batch, and not only a part of it.
  virtual bool SameRecords() const { return false; }
  // Returns the module that a Trial gets for a Sequential that it wraps; the whole Sequential is
  // registered. RequirePartition() throws Error for a model that cannot be wrapped.
  virtual torch::nn::Sequential Partition(torch::nn::Sequential whole) { return whole; }
  virtual void RequirePartition(const torch::nn::Module& /*model*/) const {}

  // Returns whether this rank steps; its gradients are complete then.
  virtual bool BeforeStep(torch::optim::Optimizer&) { return true; }
  // Called before the step: returns whether the gradients of all ranks are finite; clips the
  // gradients.
  virtual bool AllFinite(bool own) { return own; }
  virtual void ClipGradients(torch::optim::Optimizer& optimizer, const Clip& clip) {
    clip_gradients(optimizer, clip);
  }
  virtual void Step(torch::optim::Optimizer& optimizer) { optimizer.step(); }
  // Called whether or not this rank stepped.
  virtual void AfterStep(torch::optim::Optimizer&) {}

  // Called after each batch with a step. `steps` is the number of steps of the optimizers since
  // training began. Returns whether the ranks have agreed to stop, which happens at most some
  // batches after one of them requested it.
  virtual bool AfterBatch(int64_t /*steps*/, bool want_stop) { return want_stop; }
  // Makes the weights of all ranks the same, except for buffers: before a validation and a
  // checkpoint.
  virtual void Synchronize() {}

  // Returns the rank that writes the optimizers' state of each parameter to a checkpoint. It has
  // that state after Synchronize().
  virtual std::vector<int> Writers(const std::vector<torch::Tensor>& parameters) const {
    return std::vector<int>(parameters.size(), 0);
  }
  // Called after a file with optimizer state was loaded: removes the state that this rank does not
  // keep.
  virtual void Release() {}
  // Returns whether this rank can update the parameter, and therefore needs its gradients.
  virtual bool StepsWith(const torch::Tensor& /*parameter*/) const { return true; }
  // Returns the rounding errors that are added to this rank's next gradients, for each parameter of
  // all models in order; undefined or missing entries: none.
  virtual std::vector<torch::Tensor> GetResiduals() const { return {}; }
  // Sets the rounding errors; called before the first Backward(). Returns false if the strategy has
  // none.
  virtual bool SetResiduals(const std::vector<torch::Tensor>&) { return false; }
};

// Creates the configured strategy. Collective. `context` must outlive it, and need not be complete
// yet. Throws Error.
std::unique_ptr<Strategy> MakeStrategy(TrialContext& context, const Optimizations& optimizations);

}  // namespace trial
}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_STRATEGY_H_
