// How the ranks of a trial stay one net: `optimizations.strategy`; see README.md beside this.
//
// Between two calls of Synchronize() the ranks' weights may differ; behind it they are the same, as
// is the state of their optimizers, so that any of them is the checkpoint.
//
// Owned by TrialContext, on the training thread. Every rank calls the same in the same order;
// whatever communicates throws PeerGone when a peer is gone.
#ifndef TRIAL_API_CPP_TORCH_STRATEGY_H_
#define TRIAL_API_CPP_TORCH_STRATEGY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "trial_api/cpp/torch/clip.h"
#include "trial_api/cpp/torch/optimizations.h"
#include <torch/torch.h>

namespace det {

class TrialContext;

namespace trial {

// As it is: what one rank does.
class Strategy {
 public:
  virtual ~Strategy() = default;

  // The backward pass behind which the optimizers step. `want_stop`: see AfterBatch().
  virtual void Backward(const torch::Tensor& loss, bool /*want_stop*/) { loss.backward(); }
  // From the first Backward() on: gradients lie in memory of the strategy's, and are zeroed, not
  // dropped. No model may be wrapped any more.
  virtual bool OwnsGradients() const { return false; }

  // Whether all ranks have the same records, each all of a batch, and not each its part.
  virtual bool SameRecords() const { return false; }
  // What a Trial gets for a net that it wraps, of which all is registered. RequireCut() throws
  // Error for a model that cannot be wrapped otherwise.
  virtual torch::nn::Sequential Cut(torch::nn::Sequential whole) { return whole; }
  virtual void RequireCut(const torch::nn::Module& /*model*/) const {}

  // Whether this rank steps; its gradients are what they should be then.
  virtual bool BeforeStep(torch::optim::Optimizer&) { return true; }
  // Before the step: whether the gradients of all ranks are finite, and their limit.
  virtual bool AllFinite(bool own) { return own; }
  virtual void ClipGradients(torch::optim::Optimizer& optimizer, const Clip& clip) {
    clip_gradients(optimizer, clip);
  }
  virtual void Step(torch::optim::Optimizer& optimizer) { optimizer.step(); }
  // Whether this rank stepped or not.
  virtual void AfterStep(torch::optim::Optimizer&) {}

  // Behind each batch with a step. `steps`: of the optimizers, since training began. Returns
  // whether the ranks have agreed to stop, which they do at most some batches after one of them
  // wanted it.
  virtual bool AfterBatch(int64_t /*steps*/, bool want_stop) { return want_stop; }
  // Makes the ranks one net, but for its buffers: before a validation and a checkpoint.
  virtual void Synchronize() {}

  // Which rank puts the optimizers' state of each parameter into a checkpoint. It has it, after
  // Synchronize().
  virtual std::vector<int> Writers(const std::vector<torch::Tensor>& parameters) const {
    return std::vector<int>(parameters.size(), 0);
  }
  // Behind the loading of a file with state of optimizers: forgets what this rank does not keep.
  virtual void Release() {}
  // Whether this rank can step with the parameter, so that it has use for gradients of it.
  virtual bool StepsWith(const torch::Tensor& /*parameter*/) const { return true; }
  // What has not travelled of this rank's gradients and is added to the next, for each parameter of
  // all models in their order: undefined, or not there: nothing.
  virtual std::vector<torch::Tensor> LeftOut() const { return {}; }
  // Before the first Backward(). Returns false where nothing is ever left out.
  virtual bool SetLeftOut(const std::vector<torch::Tensor>&) { return false; }
};

// Collective. `context` outlives it, and need not be whole yet. Throws Error.
std::unique_ptr<Strategy> MakeStrategy(TrialContext& context, const Optimizations& optimizations);

}  // namespace trial
}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_STRATEGY_H_
