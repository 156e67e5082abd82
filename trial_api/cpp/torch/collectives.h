// Collective operations on lists of tensors, which every rank gives in the same order with the same
// types and shapes. They travel side by side in memory of the host, some megabytes at once.
//
// Called by strategies; one thread at a time per communicator. Throw PeerGone when a peer is gone.
#ifndef TRIAL_API_CPP_TORCH_COLLECTIVES_H_
#define TRIAL_API_CPP_TORCH_COLLECTIVES_H_

#include <functional>
#include <vector>

#include "trial_api/cpp/core/communicator.h"
#include <torch/types.h>

namespace det::trial {

// In place: the mean over all ranks, of tensors of floating point.
void Average(Communicator& communicator, const std::vector<torch::Tensor>& tensors);
// The same for `root` alone; the others keep what they have.
void AverageTo(Communicator& communicator, const std::vector<torch::Tensor>& tensors, int root);
// Those of `root` replace those of the others, through the memory in which the data of
// `communicator` lie.
void Broadcast(Communicator& communicator, const std::vector<torch::Tensor>& tensors, int root);

// Whether it is so on any rank.
bool AnyRank(Communicator& communicator, bool own);

// The sum of `flat`, which is of floating point and lies in memory of the host.
void Sum(Communicator& communicator, const torch::Tensor& flat);

// Side by side, in memory of the host: a copy. Of one type.
torch::Tensor Flatten(const std::vector<torch::Tensor>& tensors);
// Calls `visit` with each tensor and its part of `flat`, in its shape.
void ForEachPart(const torch::Tensor& flat, const std::vector<torch::Tensor>& tensors,
                 const std::function<void(torch::Tensor tensor, const torch::Tensor& part)>& visit);
// In their order: parts of one type, and of as much memory as goes at once.
std::vector<std::vector<torch::Tensor>> Chunks(const std::vector<torch::Tensor>& tensors);

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_COLLECTIVES_H_
