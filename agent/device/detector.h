// Finds the slots that this machine offers, and what else tasks share there.
// Called by Agent once, before it registers, on the main thread. Never runs a tool, never links a
// vendor's library: NVIDIA's is opened at run time if it is there, AMD's driver and Google's TPUs are read in /sys.
#ifndef AGENT_DEVICE_DETECTOR_H_
#define AGENT_DEVICE_DETECTOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/core/task.h"

namespace det::agent {

struct DetectorOptions {
  std::optional<int> artificial_slots;  // --slots; then nothing else is looked for
  std::string artificial_device;        // their name; empty: the processor's
  int artificial_islands = 1;           // over which they are spread, in blocks
  std::string nvml_library = "libnvidia-ml.so.1";
  std::string sys = "/sys";
};

// Artificial slots if asked for, else the GPUs, else the TPUs, else the machine's CPU as one slot.
// INVALID_ARGUMENT for numbers of slots and islands that are none.
absl::StatusOr<std::vector<Device>> DetectDevices(const DetectorOptions& options);

// The kinds, one file each.
std::vector<Device> ArtificialSlots(int count, const std::string& name, int islands);
Device CpuSlot();
// Empty without driver, library or GPU; what it looked for and did not find is logged at debug. A
// GPU in MIG mode is no slot, each of its instances is one: instance 3 of GPU 1 is slot 203.
// Islands are what NVLink connects.
std::vector<Device> NvidiaGpus(const std::string& library);
// Chips of Google's, as the kernel tells of its PCI bus.
std::vector<Device> Tpus(const std::string& sys);
// The same for AMD's driver (KFD); islands are what XGMI connects, directly
// or through others (a hive). `uuid` is what
// ROCR_VISIBLE_DEVICES calls the GPU.
std::vector<Device> AmdGpus(const std::string& sys);

// The processor's name, "CPU" if the system does not tell.
std::string CpuBrand();

// What this process, and so its tasks, may use of the machine, as far as the system tells: bounded
// by affinity and by the control group.
std::optional<double> MachineCpus(const std::string& sys = "/sys");
std::optional<int64_t> MachineMemory(const std::string& sys = "/sys");  // bytes

}  // namespace det::agent

#endif  // AGENT_DEVICE_DETECTOR_H_
