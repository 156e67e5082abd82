// The optimizers' state in parts: the state of each parameter is on one rank, which alone updates
// it.
//
// Owned by a strategy, used on the training thread.
#ifndef TRIAL_API_CPP_TORCH_STATE_PARTS_H_
#define TRIAL_API_CPP_TORCH_STATE_PARTS_H_

#include <functional>
#include <vector>

#include <torch/optim/optimizer.h>
#include <torch/types.h>

namespace det {

class Communicator;
class TrialContext;

namespace trial {

class StateParts {
 public:
  // Returns the rank of each of the given parameters.
  using Owners = std::function<std::vector<int>(const std::vector<torch::Tensor>& parameters)>;

  // Weights are sent over `channel`, which must outlive this object.
  StateParts(TrialContext& context, Communicator& channel, Owners owners);

  // Updates only this rank's parameters. The others have no gradients during the step, so
  // optimizers of libtorch skip them.
  void Step(torch::optim::Optimizer& optimizer) const;
  // Sends the weights of each part from their rank to the others. Collective.
  void SendWeights(const torch::optim::Optimizer& optimizer) const;

  std::vector<int> GetOwners(const std::vector<torch::Tensor>& parameters) const {
    return owners_(parameters);
  }
  // Removes the state of other ranks' parameters.
  void Release() const;

 private:
  TrialContext& context_;
  Communicator& channel_;
  const Owners owners_;
};

}  // namespace trial
}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_STATE_PARTS_H_
