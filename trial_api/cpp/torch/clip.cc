#include "trial_api/cpp/torch/clip.h"

#include <cmath>
#include <string>
#include <vector>

#include "trial_api/cpp/core/error.h"
#include <torch/nn/utils/clip_grad.h>

namespace det {
namespace {

void RequireAboveZero(const char* name, double limit) {
  // Written so that NaN is rejected too.
  if (!(limit > 0.0)) {
    throw Error("step_optimizer(): Clip::" + std::string(name) + " is " + std::to_string(limit) +
                ": must be above 0");
  }
}

// Same as libtorch's function, which does not support other ranks.
void ClipTogether(const std::vector<torch::Tensor>& parameters, double limit,
                  const std::function<double(double squares)>& over_ranks) {
  torch::NoGradGuard no_grad;
  constexpr double kNotZero = 1e-6;
  double squares = 0;
  for (const torch::Tensor& parameter : parameters) {
    if (!parameter.grad().defined()) continue;
    const auto norm = parameter.grad().norm().item<double>();
    squares += norm * norm;
  }
  const double factor = limit / (std::sqrt(over_ranks(squares)) + kNotZero);
  if (factor >= 1.0) return;
  for (const torch::Tensor& parameter : parameters) {
    if (parameter.grad().defined()) parameter.grad().mul_(factor);
  }
}

}  // namespace

void clip_gradients(torch::optim::Optimizer& optimizer, const Clip& clip,
                    const std::function<double(double squares)>& over_ranks) {
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
    if (over_ranks) {
      ClipTogether(parameters, *clip.norm, over_ranks);
    } else {
      torch::nn::utils::clip_grad_norm_(parameters, *clip.norm);
    }
  }
}

}  // namespace det
