#include "trial_api/cpp/torch/wire.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "trial_api/cpp/core/error.h"
#include <torch/types.h>

namespace det::trial {
namespace {

constexpr int64_t kMaxDimensions = 8;

struct Shape {
  int64_t type = 0;
  int64_t dimensions = 0;
  int64_t sizes[kMaxDimensions] = {};
};

Shape GetShape(const torch::Tensor& tensor) {
  if (tensor.dim() > kMaxDimensions) {
    throw Error("a tensor of " + std::to_string(tensor.dim()) +
                " dimensions cannot go between stages of a pipeline, which takes at most " +
                std::to_string(kMaxDimensions));
  }
  Shape shape = {static_cast<int64_t>(tensor.scalar_type()), tensor.dim()};
  std::copy(tensor.sizes().begin(), tensor.sizes().end(), shape.sizes);
  return shape;
}

torch::Tensor MakeTensor(const Shape& shape) {
  const torch::IntArrayRef sizes(shape.sizes, static_cast<size_t>(shape.dimensions));
  return torch::empty(sizes, static_cast<torch::ScalarType>(shape.type));
}

// `tensor` is used on `root` only.
torch::Tensor Pass(Communicator& channel, const torch::Tensor& tensor, int root,
                   torch::Device device) {
  torch::NoGradGuard no_grad;
  const bool mine = channel.ranks().rank == root;
  Shape shape = mine ? GetShape(tensor) : Shape();
  channel.Broadcast(&shape, sizeof shape, root);
  const torch::Tensor host =
      mine ? tensor.detach().to(torch::kCPU).contiguous() : MakeTensor(shape);
  if (host.numel() > 0) channel.Broadcast(host.data_ptr(), host.nbytes(), root);
  return mine ? tensor.detach() : host.to(device);
}

std::unique_ptr<Communicator> Pairs(Communicator& all, const std::string& name, int first) {
  const Ranks& ranks = all.ranks();
  const int lower = ranks.rank - (ranks.rank + first) % 2;
  std::vector<int> members;
  for (const int member : {lower, lower + 1}) {
    if (member >= 0 && member < ranks.size) members.push_back(member);
  }
  return all.Split(name, members);
}

}  // namespace

Wire::Wire(Communicator& communicator)
    : all_(communicator),
      even_pair_(Pairs(communicator, "even stages", 0)),
      odd_pair_(Pairs(communicator, "odd stages", 1)) {}

Communicator& Wire::With(int neighbour) const {
  return std::min(all_.ranks().rank, neighbour) % 2 == 0 ? *even_pair_ : *odd_pair_;
}

void Wire::Send(const torch::Tensor& tensor, int to) {
  Pass(With(to), tensor, to > all_.ranks().rank ? 0 : 1, tensor.device());
}

torch::Tensor Wire::Receive(int from, torch::Device device) {
  return Pass(With(from), {}, from < all_.ranks().rank ? 0 : 1, device);
}

torch::Tensor Wire::Broadcast(const torch::Tensor& tensor, int root, torch::Device device) {
  return Pass(all_, tensor, root, device);
}

}  // namespace det::trial
