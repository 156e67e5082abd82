// Finds the slots that this machine offers.
// Called by Agent once, before it registers, on the main thread. Never runs a tool, never links a
// vendor's library: NVIDIA's is opened at run time if it is there.
#ifndef AGENT_DEVICE_DETECTOR_H_
#define AGENT_DEVICE_DETECTOR_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/core/task.h"

namespace det::agent {

struct DetectorOptions {
  std::optional<int> artificial_slots;  // --slots; then nothing else is looked for
  std::string nvml_library = "libnvidia-ml.so.1";
};

// Artificial slots if asked for, else the GPUs, else the machine's CPU as one slot.
// INVALID_ARGUMENT for a negative number of slots.
absl::StatusOr<std::vector<Device>> DetectDevices(const DetectorOptions& options);

// The kinds, one file each.
std::vector<Device> ArtificialSlots(int count);
Device CpuSlot();
// Empty without driver, library or GPU; what it looked for and did not find is logged at debug.
std::vector<Device> NvidiaGpus(const std::string& library);

// The processor's name, "CPU" if the system does not tell.
std::string CpuBrand();

}  // namespace det::agent

#endif  // AGENT_DEVICE_DETECTOR_H_
