// Collective operations on lists of tensors, which all ranks pass in the same order with the same
// types and shapes. The tensors are concatenated in host memory and transferred in chunks of some
// megabytes.
//
// Called by strategies; one thread at a time per communicator. Throw PeerGone if another rank has
// ended.
#ifndef TRIAL_API_CPP_TORCH_COLLECTIVES_H_
#define TRIAL_API_CPP_TORCH_COLLECTIVES_H_

#include <functional>
#include <vector>

#include "trial_api/cpp/core/communicator.h"
#include <torch/types.h>

namespace det::trial {

// Replaces floating-point tensors by their means over all ranks, in place.
void Average(Communicator& communicator, const std::vector<torch::Tensor>& tensors);
// Same as Average for `root` only; other ranks keep their tensors.
void AverageTo(Communicator& communicator, const std::vector<torch::Tensor>& tensors, int root);
// Copies the tensors of `root` to all ranks, through the memory that `communicator` uses.
void Broadcast(Communicator& communicator, const std::vector<torch::Tensor>& tensors, int root);

// Returns whether `own` is true on any rank.
bool AnyRank(Communicator& communicator, bool own);

// Sums `flat` over all ranks in place; it must be a floating-point tensor in host memory.
void Sum(Communicator& communicator, const torch::Tensor& flat);

// Returns a copy of the tensors in host memory, concatenated. They must have the same type.
torch::Tensor Flatten(const std::vector<torch::Tensor>& tensors);
// Calls `visit` with each tensor and its part of `flat`, in the shape of the tensor.
void ForEachPart(const torch::Tensor& flat, const std::vector<torch::Tensor>& tensors,
                 const std::function<void(torch::Tensor tensor, const torch::Tensor& part)>& visit);
// Splits the tensors in their order into chunks of one type and limited size.
std::vector<std::vector<torch::Tensor>> Chunks(const std::vector<torch::Tensor>& tensors);

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_COLLECTIVES_H_
