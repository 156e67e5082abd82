// The state that an optimizer keeps of each parameter (moments and such), whatever kind it is of.
//
// Called by strategies, on the training thread.
#ifndef TRIAL_API_CPP_TORCH_OPTIMIZER_STATE_H_
#define TRIAL_API_CPP_TORCH_OPTIMIZER_STATE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

namespace det {

class TrialContext;

namespace trial {

// All of them, in the order of its groups.
std::vector<torch::Tensor> ParametersOf(const torch::optim::Optimizer& optimizer);

// By name: the tensors themselves, no copies. Empty where it has no state yet.
std::vector<std::pair<std::string, torch::Tensor>> StateOf(torch::optim::Optimizer& optimizer,
                                                           const torch::Tensor& parameter);
// As if it had never stepped with this parameter.
void ForgetState(torch::optim::Optimizer& optimizer, const torch::Tensor& parameter);

// Which rank has the state of each parameter, of `ranks`: so that they have about as many numbers,
// where the chief has so many others.
std::vector<int> BalancedOwners(const std::vector<torch::Tensor>& parameters, int ranks,
                                int64_t others_of_chief = 0);
// Where all ranks have all of it: so that they write about as much, the chief all weights too.
std::vector<int> EvenWriters(const TrialContext& context,
                             const std::vector<torch::Tensor>& parameters);

// The optimizer with the state of the parameters whose writer `rank` is, and no other. Tensors are
// shared, not copied.
torch::serialize::OutputArchive ArchiveOfPart(torch::optim::Optimizer& optimizer,
                                              const std::vector<int>& writers, int rank);

}  // namespace trial
}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_OPTIMIZER_STATE_H_
