// Where this rank computes: its GPU on a GPU slot, else the CPU.
//
// Called by TrialContext, and for each batch. The only place that knows of devices.
#ifndef TRIAL_API_CPP_TORCH_DEVICE_H_
#define TRIAL_API_CPP_TORCH_DEVICE_H_

#include <string>

#include "trial_api/cpp/core/ranks.h"
#include <torch/types.h>

namespace det::trial {

// What is known of the GPUs that this process may use.
struct Gpus {
  bool built = false;  // whether this is a build with --config=cuda
  int seen = 0;        // by libtorch

  static Gpus Find();
};

// Of a slot of the agent's type ($DET_SLOT_TYPE; empty off the cluster, where any GPU is taken).
// Throws Error when the slot is a GPU that is not there for this process: a CPU in its place would
// take days, and nobody would know why.
torch::Device DeviceOfSlot(const std::string& slot_type, const Gpus& gpus, const Ranks& ranks);

torch::Device SlotDevice(const Ranks& ranks);

// The tensor there. A GPU goes on computing while it is copied: from memory that it may read by
// itself.
torch::Tensor OnDevice(const torch::Tensor& tensor, torch::Device device);

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_DEVICE_H_
