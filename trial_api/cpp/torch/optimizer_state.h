// Access to the state that an optimizer keeps for each parameter (moments, for example), for all
// kinds of optimizers.
//
// Called by strategies, on the training thread.
#ifndef TRIAL_API_CPP_TORCH_OPTIMIZER_STATE_H_
#define TRIAL_API_CPP_TORCH_OPTIMIZER_STATE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>
#include <torch/types.h>

namespace det {

class TrialContext;

namespace trial {

// Returns all parameters of an optimizer, in the order of its groups.
std::vector<torch::Tensor> GetParameters(const torch::optim::Optimizer& optimizer);

// Returns the tensors of the state by name, without copying them; empty if there is no state yet.
std::vector<std::pair<std::string, torch::Tensor>> GetState(torch::optim::Optimizer& optimizer,
                                                            const torch::Tensor& parameter);
// Removes the state of a parameter, as if the optimizer had never updated it.
void ForgetState(torch::optim::Optimizer& optimizer, const torch::Tensor& parameter);

// Assigns the state of each parameter to one of `ranks` ranks, so that all have a similar number of
// values; the chief has `others_of_chief` other values already.
std::vector<int> BalancedOwners(const std::vector<torch::Tensor>& parameters, int ranks,
                                int64_t others_of_chief = 0);
// Assigns the writing of the state if all ranks have all of it, so that all write a similar amount;
// the chief also writes all weights.
std::vector<int> EvenWriters(const TrialContext& context,
                             const std::vector<torch::Tensor>& parameters);

// Returns an archive of the optimizer with the state of only those parameters whose writer is
// `rank`. Tensors are shared, not copied.
torch::serialize::OutputArchive MakePartialArchive(torch::optim::Optimizer& optimizer,
                                                   const std::vector<int>& writers, int rank);

}  // namespace trial
}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_OPTIMIZER_STATE_H_
