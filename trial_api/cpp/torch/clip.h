// How TrialContext::step_optimizer() limits the gradients.
#ifndef TRIAL_API_CPP_TORCH_CLIP_H_
#define TRIAL_API_CPP_TORCH_CLIP_H_

#include <optional>

#include <torch/torch.h>

namespace det {

// Of the gradients averaged over all ranks; by value before by norm.
struct Clip {
  std::optional<double> norm = {};   // of the optimizer's gradients together: scaled down to it
  std::optional<double> value = {};  // of each element: cut off at plus and minus it
};

// Throws Error when a limit is not above 0.
void clip_gradients(torch::optim::Optimizer& optimizer, const Clip& clip);

}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_CLIP_H_
