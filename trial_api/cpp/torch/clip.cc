#include "trial_api/cpp/torch/clip.h"

#include <string>
#include <vector>

#include "trial_api/cpp/core/error.h"

namespace det {
namespace {

void RequireAboveZero(const char* name, double limit) {
  // So that NaN is refused, too.
  if (!(limit > 0.0)) {
    throw Error("step_optimizer(): Clip::" + std::string(name) + " is " + std::to_string(limit) +
                ": must be above 0");
  }
}

}  // namespace

void clip_gradients(torch::optim::Optimizer& optimizer, const Clip& clip) {
  if (!clip.norm && !clip.value) return;
  std::vector<torch::Tensor> parameters;
  for (const auto& group : optimizer.param_groups()) {
    parameters.insert(parameters.end(), group.params().begin(), group.params().end());
  }
  if (clip.value) {
    RequireAboveZero("value", *clip.value);
    torch::nn::utils::clip_grad_value_(parameters, *clip.value);
  }
  if (clip.norm) {
    RequireAboveZero("norm", *clip.norm);
    torch::nn::utils::clip_grad_norm_(parameters, *clip.norm);
  }
}

}  // namespace det
