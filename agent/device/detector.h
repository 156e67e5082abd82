// Detects the slots of this machine, and its CPUs and memory. Called by Agent once, before
// registration, on the main thread. Never runs other programs and never links a vendor's library:
// NVML is loaded at run time if it is installed; AMD GPUs and TPUs are read from /sys.
#ifndef AGENT_DEVICE_DETECTOR_H_
#define AGENT_DEVICE_DETECTOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/core/task.h"

namespace det::agent {

// auto: the GPUs, else the TPUs, else the CPU as one slot. none: no slots. gpu is the same as cuda.
inline constexpr const char* kSlotTypes[] = {"auto", "cuda", "gpu", "rocm", "tpu", "cpu", "none"};

struct DetectorOptions {
  std::optional<int> artificial_slots;  // --slots; if set, devices are not detected
  std::string artificial_device;        // name of their device; empty: the processor's name
  int artificial_islands = 1;           // number of contiguous blocks into which slots are divided
  std::string slot_type = "auto";       // one of kSlotTypes
  // GPUs or TPUs to offer, by number or UUID, separated by commas; if not set, all.
  std::optional<std::string> visible_gpus;
  // $CUDA_VISIBLE_DEVICES or $ROCR_VISIBLE_DEVICES, if `visible_gpus` is not set. As the libraries
  // of the GPUs read it: the list ends at the first entry that is not a GPU of this machine.
  std::optional<std::string> environment_gpus;
  std::string nvml_library = "libnvidia-ml.so.1";
  std::string sys = "/sys";
};

// Returns artificial slots if requested, else the devices of the slot type. Returns
// INVALID_ARGUMENT for invalid options, NOT_FOUND if the machine lacks a requested device.
absl::StatusOr<std::vector<Device>> DetectDevices(const DetectorOptions& options);

// Returns one line per device: number, type, UUID and name, separated by tabs.
std::string ListDevices(const std::vector<Device>& devices);

// One function per kind of device, each in its own file.
std::vector<Device> MakeArtificialSlots(int count, const std::string& name, int islands);
Device MakeCpuSlot();
// Returns the NVIDIA GPUs; empty without driver, library or GPU, which is logged at level DEBUG. A
// GPU in MIG mode is not a slot, but each of its instances is: instance 3 of GPU 1 is slot 203.
// NVLink connects the GPUs of an island.
std::vector<Device> DetectNvidiaGpus(const std::string& library);
// Returns Google's TPU chips on the PCI bus.
std::vector<Device> DetectTpus(const std::string& sys);
// Returns the AMD GPUs of the KFD driver. XGMI connects the GPUs of an island, directly or through
// others (a hive). `uuid` is the name for ROCR_VISIBLE_DEVICES.
std::vector<Device> DetectAmdGpus(const std::string& sys);

// Returns the processor's name; "CPU" if it is unknown.
std::string GetCpuBrand();

// Returns the CPUs and the memory in bytes that this process, and therefore its tasks, may use:
// limited by affinity and by the control group. nullopt if unknown.
std::optional<double> GetMachineCpus(const std::string& sys = "/sys");
std::optional<int64_t> GetMachineMemory(const std::string& sys = "/sys");  // bytes

}  // namespace det::agent

#endif  // AGENT_DEVICE_DETECTOR_H_
