// How TrialContext::step_optimizer() limits the gradients.
#ifndef TRIAL_API_CPP_TORCH_CLIP_H_
#define TRIAL_API_CPP_TORCH_CLIP_H_

#include <functional>
#include <optional>

#include <torch/torch.h>

namespace det {

// Of the gradients averaged over all ranks; by value before by norm.
struct Clip {
  std::optional<double> norm = {};   // of the optimizer's gradients together: scaled down to it
  std::optional<double> value = {};  // of each element: cut off at plus and minus it
};

// Throws Error when a limit is not above 0. `over_ranks`, where each rank has gradients of its own
// parameters: of the sum of their squares, what it is over all.
void clip_gradients(torch::optim::Optimizer& optimizer, const Clip& clip,
                    const std::function<double(double squares)>& over_ranks = {});

}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_CLIP_H_
