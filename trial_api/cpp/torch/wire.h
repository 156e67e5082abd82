// Sends tensors between ranks, for the stages of a pipeline. The shape is sent before the data; the
// data passes through host memory.
//
// Owned by the strategy, used on the training thread. Throws PeerGone if another rank has ended.
#ifndef TRIAL_API_CPP_TORCH_WIRE_H_
#define TRIAL_API_CPP_TORCH_WIRE_H_

#include <memory>

#include "trial_api/cpp/core/communicator.h"
#include <torch/types.h>

namespace det::trial {

class Wire {
 public:
  // Collective. `communicator` must outlive this object.
  explicit Wire(Communicator& communicator);

  // Transfers a tensor between neighbors, one of which sends while the other receives; returns when
  // both are done.
  void Send(const torch::Tensor& tensor, int to);
  torch::Tensor Receive(int from, torch::Device device);
  // Returns the `tensor` of `root` on each rank. Collective.
  torch::Tensor Broadcast(const torch::Tensor& tensor, int root, torch::Device device);

 private:
  Communicator& With(int neighbour) const;

  Communicator& all_;
  // Channels among the ranks (0, 1), (2, 3) and so on, and (1, 2), (3, 4) and so on.
  const std::unique_ptr<Communicator> even_pair_;
  const std::unique_ptr<Communicator> odd_pair_;
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_WIRE_H_
