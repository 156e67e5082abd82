// Where this rank computes: its GPU on a CUDA slot, else the CPU.
//
// Called once by TrialContext. The only place that knows of devices.
#ifndef TRIAL_API_CPP_TORCH_DEVICE_H_
#define TRIAL_API_CPP_TORCH_DEVICE_H_

#include "trial_api/cpp/core/ranks.h"
#include <torch/types.h>

namespace det::trial {

torch::Device SlotDevice(const Ranks& ranks);

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_DEVICE_H_
