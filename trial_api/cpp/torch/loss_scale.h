// What a loss is multiplied by, so that small gradients are not lost in float16: grows as long as
// all gradients are finite, and shrinks when one is not. Micikevicius et al., "Mixed Precision
// Training", 2018, section 3.2.
//
// Owned by the TrialContext, on the training thread. Ranks decide alike without a word: what is not
// finite on one of them is not finite in the gradients averaged over all. Where they have others, a
// strategy agrees.
#ifndef TRIAL_API_CPP_TORCH_LOSS_SCALE_H_
#define TRIAL_API_CPP_TORCH_LOSS_SCALE_H_

#include <cstdint>
#include <functional>

#include "trial_api/cpp/core/communicator.h"
#include <torch/torch.h>

namespace det {

struct LossScaling {
  double initial = 65536.0;
  double growth = 2.0;          // factor, above 1
  int64_t growth_every = 2000;  // steps in a row that were finite
  double backoff = 0.5;         // factor, between 0 and 1
};

namespace trial {

class LossScale {
 public:
  // Throws Error when `options` make no sense.
  explicit LossScale(const LossScaling& options);

  double value() const { return value_; }

  // Divides the optimizer's gradients by value(). Returns whether all are finite, as `agree` says
  // that is given whether this rank's are: if not, this optimizer must not step.
  bool Unscale(torch::optim::Optimizer& optimizer, const std::function<bool(bool finite)>& agree);
  // After the step of all optimizers: the scale of the next.
  void Update();

  // Collective: the chief's replaces those of the others, where ranks do not see the same
  // gradients.
  void Broadcast(Communicator& communicator);

  void Save(torch::serialize::OutputArchive& archive) const;
  void Load(torch::serialize::InputArchive& archive);

 private:
  const LossScaling options_;
  double value_;
  int64_t finite_steps_ = 0;  // since the scale changed
  bool unscaled_ = false;     // since the last Update()
  bool overflowed_ = false;
};

}  // namespace trial
}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_LOSS_SCALE_H_
