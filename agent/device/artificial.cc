#include "absl/strings/str_cat.h"
#include "agent/device/detector.h"

namespace det::agent {

absl::StatusOr<std::vector<Device>> DetectDevices(const DetectorOptions& options) {
  if (options.artificial_slots.has_value()) {
    if (*options.artificial_slots < 0 || *options.artificial_slots > 4096) {
      return absl::InvalidArgumentError(absl::StrCat("--slots ", *options.artificial_slots,
                                                     " is no number of slots; use 0 to 4096"));
    }
    return ArtificialSlots(*options.artificial_slots);
  }
  std::vector<Device> devices = NvidiaGpus(options.nvml_library);
  if (devices.empty()) devices.push_back(CpuSlot());
  return devices;
}

std::vector<Device> ArtificialSlots(int count) {
  std::vector<Device> devices;
  const std::string brand = CpuBrand();
  for (int id = 0; id < count; ++id) {
    devices.push_back({.id = id,
                       .type = DeviceType::kCpu,
                       .brand = brand,
                       .uuid = absl::StrCat("artificial-", id)});
  }
  return devices;
}

}  // namespace det::agent
