#include "agent/device/detector.h"

#include "absl/strings/str_cat.h"

namespace det::agent {

absl::StatusOr<std::vector<Device>> DetectDevices(const DetectorOptions& options) {
  if (options.artificial_slots.has_value()) {
    const int slots = *options.artificial_slots;
    if (slots < 0 || slots > 4096) {
      return absl::InvalidArgumentError(
          absl::StrCat("--slots must be between 0 and 4096, not ", slots));
    }
    if (options.artificial_islands < 1 || options.artificial_islands > 4096) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--artificial-islands must be between 1 and 4096, not ", options.artificial_islands));
    }
    return MakeArtificialSlots(slots, options.artificial_device, options.artificial_islands);
  }
  std::vector<Device> devices = DetectNvidiaGpus(options.nvml_library);
  if (devices.empty()) devices = DetectAmdGpus(options.sys);
  if (devices.empty()) devices = DetectTpus(options.sys);
  if (devices.empty()) devices.push_back(MakeCpuSlot());
  return devices;
}

std::vector<Device> MakeArtificialSlots(int count, const std::string& name, int islands) {
  std::vector<Device> devices;
  const std::string brand = name.empty() ? GetCpuBrand() : name;
  for (int id = 0; id < count; ++id) {
    devices.push_back({.id = id,
                       .type = DeviceType::kCpu,
                       .brand = brand,
                       .uuid = absl::StrCat("artificial-", id),
                       .island = id * islands / count});
  }
  return devices;
}

}  // namespace det::agent
