// Tensors from rank to rank, for the stages of a pipeline: their shape goes before them, and they
// go through the host's memory.
//
// Owned by the strategy, on the training thread. Throws PeerGone when a peer is gone.
#ifndef TRIAL_API_CPP_TORCH_WIRE_H_
#define TRIAL_API_CPP_TORCH_WIRE_H_

#include <memory>

#include "trial_api/cpp/core/communicator.h"
#include <torch/types.h>

namespace det::trial {

class Wire {
 public:
  // Collective. `communicator` outlives it.
  explicit Wire(Communicator& communicator);

  // Between neighbours, one of which sends while the other receives: returns when both have.
  void Send(const torch::Tensor& tensor, int to);
  torch::Tensor Receive(int from, torch::Device device);
  // Collective: `tensor` of `root`, on each rank.
  torch::Tensor Broadcast(const torch::Tensor& tensor, int root, torch::Device device);

 private:
  Communicator& With(int neighbour) const;

  Communicator& all_;
  // Of the ranks (0, 1), (2, 3) and so on; (1, 2), (3, 4) and so on.
  const std::unique_ptr<Communicator> even_pair_;
  const std::unique_ptr<Communicator> odd_pair_;
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_WIRE_H_
