#include "trial_api/cpp/torch/collectives.h"

#include <string>

#include "trial_api/cpp/core/error.h"
#include <torch/types.h>

namespace det::trial {
namespace {

constexpr size_t kBytesAtOnce = size_t{64} << 20;

DType ToDType(const torch::Tensor& flat) {
  switch (flat.scalar_type()) {
    case torch::kFloat32:
      return DType::kFloat32;
    case torch::kFloat64:
      return DType::kFloat64;
    case torch::kHalf:
      return DType::kFloat16;
    case torch::kBFloat16:
      return DType::kBFloat16;
    default:
      throw Error(std::string("tensors of type ") + torch::toString(flat.scalar_type()) +
                  " cannot be averaged over the ranks");
  }
}

torch::Tensor SideBySide(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> flat;
  for (const torch::Tensor& tensor : tensors) flat.push_back(tensor.detach().reshape({-1}));
  return torch::cat(flat);
}

void CopyBack(const torch::Tensor& flat, const std::vector<torch::Tensor>& tensors) {
  ForEachPart(flat, tensors,
              [](torch::Tensor tensor, const torch::Tensor& part) { tensor.copy_(part); });
}

}  // namespace

torch::Tensor Flatten(const std::vector<torch::Tensor>& tensors) {
  return SideBySide(tensors).to(torch::kCPU);
}

void ForEachPart(
    const torch::Tensor& flat, const std::vector<torch::Tensor>& tensors,
    const std::function<void(torch::Tensor tensor, const torch::Tensor& part)>& visit) {
  int64_t offset = 0;
  for (const torch::Tensor& tensor : tensors) {
    visit(tensor.detach(), flat.slice(0, offset, offset + tensor.numel()).view(tensor.sizes()));
    offset += tensor.numel();
  }
}

std::vector<std::vector<torch::Tensor>> Chunks(const std::vector<torch::Tensor>& tensors) {
  std::vector<std::vector<torch::Tensor>> chunks;
  size_t bytes = 0;
  for (const torch::Tensor& tensor : tensors) {
    if (chunks.empty() || chunks.back()[0].scalar_type() != tensor.scalar_type() ||
        bytes + tensor.nbytes() > kBytesAtOnce) {
      chunks.emplace_back();
      bytes = 0;
    }
    chunks.back().push_back(tensor);
    bytes += tensor.nbytes();
  }
  return chunks;
}

bool AnyRank(Communicator& communicator, bool own) {
  float sum = own ? 1.0F : 0.0F;
  communicator.AllReduceSum(&sum, 1, DType::kFloat32);
  return sum > 0.0F;
}

void Sum(Communicator& communicator, const torch::Tensor& flat) {
  communicator.AllReduceSum(flat.data_ptr(), static_cast<size_t>(flat.numel()), ToDType(flat));
}

void Average(Communicator& communicator, const std::vector<torch::Tensor>& tensors) {
  torch::NoGradGuard no_grad;
  for (const auto& chunk : Chunks(tensors)) {
    torch::Tensor flat = Flatten(chunk);
    Sum(communicator, flat);
    CopyBack(flat.div_(communicator.ranks().size), chunk);
  }
}

void AverageTo(Communicator& communicator, const std::vector<torch::Tensor>& tensors, int root) {
  torch::NoGradGuard no_grad;
  for (const auto& chunk : Chunks(tensors)) {
    torch::Tensor flat = Flatten(chunk);
    communicator.ReduceSum(flat.data_ptr(), static_cast<size_t>(flat.numel()), ToDType(flat), root);
    if (communicator.ranks().rank == root) CopyBack(flat.div_(communicator.ranks().size), chunk);
  }
}

void Broadcast(Communicator& communicator, const std::vector<torch::Tensor>& tensors, int root) {
  torch::NoGradGuard no_grad;
  for (const auto& chunk : Chunks(tensors)) {
    const torch::Tensor flat = communicator.on_device() ? SideBySide(chunk) : Flatten(chunk);
    communicator.Broadcast(flat.data_ptr(), flat.nbytes(), root);
    if (communicator.ranks().rank != root) CopyBack(flat, chunk);
  }
}

}  // namespace det::trial
