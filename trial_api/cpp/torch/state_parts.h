// The state of the optimizers in parts: each parameter's is on one rank, which alone steps with it.
//
// Owned by a strategy, on the training thread.
#ifndef TRIAL_API_CPP_TORCH_STATE_PARTS_H_
#define TRIAL_API_CPP_TORCH_STATE_PARTS_H_

#include <functional>
#include <vector>

#include <torch/torch.h>

namespace det {

class Communicator;
class TrialContext;

namespace trial {

class StateParts {
 public:
  // The rank of each parameter, of those given.
  using Owners = std::function<std::vector<int>(const std::vector<torch::Tensor>& parameters)>;

  // Weights go by `channel`, which outlives it.
  StateParts(TrialContext& context, Communicator& channel, Owners owners);

  // Steps with this rank's parameters alone. The others have no gradients meanwhile, which every
  // optimizer of libtorch leaves out.
  void Step(torch::optim::Optimizer& optimizer) const;
  // Collective: weights of each part go from their rank to the others.
  void GiveWeights(const torch::optim::Optimizer& optimizer) const;

  std::vector<int> OwnersOf(const std::vector<torch::Tensor>& parameters) const {
    return owners_(parameters);
  }
  // Forgets the state that is of another's part.
  void Release() const;

 private:
  TrialContext& context_;
  Communicator& channel_;
  const Owners owners_;
};

}  // namespace trial
}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_STATE_PARTS_H_
