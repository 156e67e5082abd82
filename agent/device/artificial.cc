#include "absl/strings/str_cat.h"
#include "agent/device/detector.h"

namespace det::agent {

absl::StatusOr<std::vector<Device>> DetectDevices(const DetectorOptions& options) {
  if (options.artificial_slots.has_value()) {
    const int slots = *options.artificial_slots;
    if (slots < 0 || slots > 4096) {
      return absl::InvalidArgumentError(
          absl::StrCat("--slots ", slots, " is no number of slots; use 0 to 4096"));
    }
    if (options.artificial_islands < 1 || options.artificial_islands > 4096) {
      return absl::InvalidArgumentError(absl::StrCat("--artificial-islands ",
                                                     options.artificial_islands,
                                                     " is no number of islands; use 1 to 4096"));
    }
    return ArtificialSlots(slots, options.artificial_device, options.artificial_islands);
  }
  std::vector<Device> devices = NvidiaGpus(options.nvml_library);
  if (devices.empty()) devices = AmdGpus(options.sys);
  if (devices.empty()) devices = Tpus(options.sys);
  if (devices.empty()) devices.push_back(CpuSlot());
  return devices;
}

std::vector<Device> ArtificialSlots(int count, const std::string& name, int islands) {
  std::vector<Device> devices;
  const std::string brand = name.empty() ? CpuBrand() : name;
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
