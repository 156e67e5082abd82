// The state that an optimizer keeps of each parameter (moments and such), whatever kind it is of.
//
// Called by strategies, on the training thread.
#ifndef TRIAL_API_CPP_TORCH_OPTIMIZER_STATE_H_
#define TRIAL_API_CPP_TORCH_OPTIMIZER_STATE_H_

#include <string>
#include <utility>
#include <vector>

#include "trial_api/cpp/core/communicator.h"
#include <torch/torch.h>

namespace det::trial {

// All of them, in the order of its groups.
std::vector<torch::Tensor> ParametersOf(const torch::optim::Optimizer& optimizer);

// By name: the tensors themselves, no copies. Empty where it has no state yet.
std::vector<std::pair<std::string, torch::Tensor>> StateOf(torch::optim::Optimizer& optimizer,
                                                           const torch::Tensor& parameter);
// As if it had never stepped with this parameter.
void ForgetState(torch::optim::Optimizer& optimizer, const torch::Tensor& parameter);

// Which rank has the state of each parameter, of `ranks`: so that they have about as many numbers.
std::vector<int> BalancedOwners(const std::vector<torch::Tensor>& parameters, int ranks);

// Collective: the chief gets what every other rank has. The optimizers have the same groups on all
// ranks. Throws PeerGone.
void GatherState(Communicator& communicator, torch::optim::Optimizer& optimizer);

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_OPTIMIZER_STATE_H_
