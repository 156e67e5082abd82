#include "trial_api/cpp/torch/device.h"

#ifdef DET_CUDA
#include <cstdlib>
#include <string_view>

#include <torch/cuda.h>
#endif

namespace det::trial {

torch::Device SlotDevice([[maybe_unused]] const Ranks& ranks) {
#ifdef DET_CUDA
  // The agent shows a task only the GPUs of its slots, so they are numbered by local rank.
  const char* slot_type = std::getenv("DET_SLOT_TYPE");
  const bool wants_cpu = slot_type != nullptr && std::string_view(slot_type) == "cpu";
  if (!wants_cpu && torch::cuda::is_available()) {
    return torch::Device(torch::kCUDA, static_cast<torch::DeviceIndex>(ranks.local_rank));
  }
#endif
  return torch::Device(torch::kCPU);
}

}  // namespace det::trial
