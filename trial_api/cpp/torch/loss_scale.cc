#include "trial_api/cpp/torch/loss_scale.h"

#include "trial_api/cpp/core/error.h"

namespace det::trial {

LossScale::LossScale(const LossScaling& options) : options_(options), value_(options.initial) {
  // Written so that NaN is rejected too.
  const bool sensible = options.initial > 0.0 && options.growth > 1.0 &&
                        options.growth_every >= 1 && options.backoff > 0.0 && options.backoff < 1.0;
  if (!sensible) {
    throw Error(
        "LossScaling: initial must be above 0, growth above 1, growth_every at least 1, backoff "
        "between 0 and 1");
  }
}

bool LossScale::Unscale(torch::optim::Optimizer& optimizer,
                        const std::function<bool(bool finite)>& agree) {
  torch::NoGradGuard no_grad;
  unscaled_ = true;
  // Checked once for all gradients, because each check waits for the device.
  torch::Tensor all_finite;
  for (auto& group : optimizer.param_groups()) {
    for (torch::Tensor& parameter : group.params()) {
      if (!parameter.grad().defined()) continue;
      const torch::Tensor finite = torch::isfinite(parameter.mutable_grad().div_(value_)).all();
      all_finite = all_finite.defined() ? all_finite.logical_and(finite) : finite;
    }
  }
  const bool finite = agree(!all_finite.defined() || all_finite.item<bool>());
  overflowed_ = overflowed_ || !finite;
  return finite;
}

void LossScale::Update() {
  if (!unscaled_) return;
  if (overflowed_) {
    value_ *= options_.backoff;
    finite_steps_ = 0;
  } else if (++finite_steps_ == options_.growth_every) {
    value_ *= options_.growth;
    finite_steps_ = 0;
  }
  unscaled_ = overflowed_ = false;
}

void LossScale::Broadcast(Communicator& communicator) {
  double chiefs[] = {value_, static_cast<double>(finite_steps_)};
  communicator.Broadcast(chiefs, sizeof chiefs, 0);
  value_ = chiefs[0];
  finite_steps_ = static_cast<int64_t>(chiefs[1]);
}

void LossScale::Save(torch::serialize::OutputArchive& archive) const {
  archive.write("value", c10::IValue(value_));
  archive.write("finite_steps", c10::IValue(finite_steps_));
}

void LossScale::Load(torch::serialize::InputArchive& archive) {
  c10::IValue value, finite_steps;
  archive.read("value", value);
  archive.read("finite_steps", finite_steps);
  value_ = value.toDouble();
  finite_steps_ = finite_steps.toInt();
}

}  // namespace det::trial
