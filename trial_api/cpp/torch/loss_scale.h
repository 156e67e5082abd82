// The factor of the loss that prevents underflow of small gradients in float16: it grows while all
// gradients are finite, and shrinks when one is not. Micikevicius et al., "Mixed Precision
// Training", 2018, section 3.2.
//
// Owned by the TrialContext, used on the training thread. Ranks make the same decisions without
// communication: a gradient that is not finite on one rank is not finite in the average. If ranks
// have different gradients, the strategy lets them agree.
#ifndef TRIAL_API_CPP_TORCH_LOSS_SCALE_H_
#define TRIAL_API_CPP_TORCH_LOSS_SCALE_H_

#include <cstdint>
#include <functional>

#include "trial_api/cpp/core/communicator.h"
#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>

namespace det {

struct LossScaling {
  double initial = 65536.0;
  double growth = 2.0;          // factor, above 1
  int64_t growth_every = 2000;  // number of consecutive finite steps
  double backoff = 0.5;         // factor, between 0 and 1
};

namespace trial {

class LossScale {
 public:
  // Throws Error if `options` are invalid.
  explicit LossScale(const LossScaling& options);

  double value() const { return value_; }

  // Divides the optimizer's gradients by value(). Returns whether all are finite on all ranks,
  // according to `agree`, which is passed the result of this rank. If false, this optimizer must
  // not step.
  bool Unscale(torch::optim::Optimizer& optimizer, const std::function<bool(bool finite)>& agree);
  // Updates the scale. Called after the step of all optimizers.
  void Update();

  // Copies the chief's scale to the other ranks, if ranks have different gradients. Collective.
  void Broadcast(Communicator& communicator);

  void Save(torch::serialize::OutputArchive& archive) const;
  void Load(torch::serialize::InputArchive& archive);

 private:
  const LossScaling options_;
  double value_;
  int64_t finite_steps_ = 0;  // since the last change of the scale
  bool unscaled_ = false;     // since the last Update()
  bool overflowed_ = false;
};

}  // namespace trial
}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_LOSS_SCALE_H_
