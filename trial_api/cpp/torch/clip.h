// Gradient clipping in TrialContext::step_optimizer().
#ifndef TRIAL_API_CPP_TORCH_CLIP_H_
#define TRIAL_API_CPP_TORCH_CLIP_H_

#include <functional>
#include <optional>

#include <torch/optim/optimizer.h>

namespace det {

// Limits for the gradients, after averaging over all ranks. `value` is applied before `norm`.
struct Clip {
  std::optional<double> norm = {};   // maximum norm of all gradients of the optimizer together
  std::optional<double> value = {};  // maximum absolute value of each element
};

// Clips the gradients of `optimizer`. Throws Error if a limit is not above 0. If ranks have
// gradients of different parameters, `over_ranks` converts a rank's sum of squares to the sum over
// all ranks.
void clip_gradients(torch::optim::Optimizer& optimizer, const Clip& clip,
                    const std::function<double(double squares)>& over_ranks = {});

}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_CLIP_H_
