// Selects the device on which this rank computes: its GPU on a GPU slot, else the CPU.
//
// Called by TrialContext, and for each batch. The only code that depends on devices.
#ifndef TRIAL_API_CPP_TORCH_DEVICE_H_
#define TRIAL_API_CPP_TORCH_DEVICE_H_

#include <string>

#include "trial_api/cpp/core/ranks.h"
#include <torch/types.h>

namespace det::trial {

// The GPUs that this process may use.
struct Gpus {
  bool built = false;  // whether this is a build with --config=cuda
  int seen = 0;        // number of GPUs that libtorch sees

  static Gpus Find();
};

// Returns the device of a slot of the agent's type ($DET_SLOT_TYPE; empty off the cluster, where a
// GPU is used if there is one). Throws Error if the slot is a GPU that this process cannot use,
// because training on the CPU instead would be very slow.
torch::Device SelectDevice(const std::string& slot_type, const Gpus& gpus, const Ranks& ranks);

torch::Device GetSlotDevice(const Ranks& ranks);

// Copies a tensor to a device. A GPU continues to compute during the copy, which uses pinned
// memory.
torch::Tensor CopyToDevice(const torch::Tensor& tensor, torch::Device device);

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_DEVICE_H_
