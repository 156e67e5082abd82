#include "trial_api/cpp/torch/device.h"

#include <cstdlib>

#include "trial_api/cpp/core/error.h"

#ifdef DET_CUDA
#include <torch/cuda.h>
#endif

namespace det::trial {
namespace {

[[noreturn]] void ThrowNoGpu(const std::string& slot_type, const std::string& why) {
  if (slot_type.empty()) {
    throw Error("each rank takes a GPU of this machine, and " + why +
                ". To train on the CPU, set DET_SLOT_TYPE=cpu");
  }
  throw Error("the slots of this task are not CPU cores (DET_SLOT_TYPE is " + slot_type + ") and " +
              why + ". To train on the CPU, take a resource pool whose slots are cores");
}

// Returns why the GPU cannot be used; empty if it can.
std::string WhyNot(const std::string& slot_type, const Gpus& gpus, int number) {
  if (slot_type != "cuda") return "Trials in C++ support only GPUs of NVIDIA (cuda)";
  if (!gpus.built) {
    return "this Trial API is built without CUDA: build it with --config=cuda, against a libtorch "
           "for CUDA, and install that where the agent runs";
  }
  if (number < gpus.seen) return "";
  return "libtorch sees " + std::to_string(gpus.seen) + (gpus.seen == 1 ? " GPU" : " GPUs") +
         ", of which this rank needs number " + std::to_string(number) +
         " from 0: see that the libtorch is one for CUDA, and that the driver of the node, and the "
         "container if there is one, go with it";
}

}  // namespace

Gpus Gpus::Find() {
#ifdef DET_CUDA
  return {.built = true, .seen = static_cast<int>(torch::cuda::device_count())};
#else
  return {};
#endif
}

torch::Device SelectDevice(const std::string& slot_type, const Gpus& gpus, const Ranks& ranks) {
  const torch::Device cpu(torch::kCPU);
  if (slot_type == "cpu") return cpu;
  if (slot_type.empty() && gpus.seen == 0) return cpu;
  // The agent makes only the GPUs of its slots visible to a task, so they are numbered by local
  // rank.
  const std::string why = WhyNot(slot_type.empty() ? "cuda" : slot_type, gpus, ranks.local_rank);
  if (!why.empty()) ThrowNoGpu(slot_type, why);
  return torch::Device(torch::kCUDA, static_cast<torch::DeviceIndex>(ranks.local_rank));
}

torch::Device GetSlotDevice(const Ranks& ranks) {
  const char* const slot_type = std::getenv("DET_SLOT_TYPE");
  return SelectDevice(slot_type == nullptr ? "" : slot_type, Gpus::Find(), ranks);
}

torch::Tensor CopyToDevice(const torch::Tensor& tensor, torch::Device device) {
  // Pinned memory has the same strides, so it cannot be a copy of an expanded tensor. A tensor that
  // is pinned already is copied first, because its owner may overwrite it before the transfer.
  const bool plain = tensor.device().is_cpu() && tensor.layout() == torch::kStrided &&
                     tensor.is_non_overlapping_and_dense();
  if (!device.is_cuda() || !plain || tensor.is_pinned()) return tensor.to(device);
  return tensor.pin_memory().to(device, /*non_blocking=*/true);
}

}  // namespace det::trial
