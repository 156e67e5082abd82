#include "agent/device/detector.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"

namespace det::agent {
namespace {

const char* GetTypeName(DeviceType type) {
  switch (type) {
    case DeviceType::kCpu:
      return "cpu";
    case DeviceType::kCuda:
      return "cuda";
    case DeviceType::kRocm:
      return "rocm";
    case DeviceType::kTpu:
      return "tpu";
  }
  return "";
}

std::vector<Device> DetectGpus(const DetectorOptions& options) {
  const std::string& type = options.slot_type;
  std::vector<Device> gpus;
  if (type == "auto" || type == "cuda" || type == "gpu") {
    gpus = DetectNvidiaGpus(options.nvml_library);
  }
  if (gpus.empty() && (type == "auto" || type == "rocm")) gpus = DetectAmdGpus(options.sys);
  return gpus;
}

// An entry is a GPU's number or UUID, or the beginning of a UUID.
bool Matches(const Device& device, absl::string_view entry) {
  int number = 0;
  if (absl::SimpleAtoi(entry, &number)) return number == device.id;
  return !entry.empty() && absl::StartsWith(device.uuid, entry);
}

// Returns the devices that `list` selects, in the order of detection, and the first entry that
// selects none; the list ends there.
std::pair<std::vector<Device>, std::string> Select(const std::vector<Device>& devices,
                                                   const std::string& list) {
  std::set<int> selected;
  std::string unknown;
  for (const absl::string_view item : absl::StrSplit(list, ',', absl::SkipWhitespace())) {
    const absl::string_view entry = absl::StripAsciiWhitespace(item);
    const auto found = std::find_if(devices.begin(), devices.end(),
                                    [&](const Device& each) { return Matches(each, entry); });
    if (found == devices.end()) {
      unknown = std::string(entry);
      break;
    }
    selected.insert(found->id);
  }
  std::vector<Device> chosen = devices;
  std::erase_if(chosen, [&](const Device& each) { return !selected.contains(each.id); });
  return {std::move(chosen), std::move(unknown)};
}

absl::StatusOr<std::vector<Device>> SelectVisible(const std::vector<Device>& devices,
                                                  const std::string& list) {
  auto [chosen, unknown] = Select(devices, list);
  if (unknown.empty()) return std::move(chosen);
  return absl::NotFoundError(absl::StrCat(
      "--visible-gpus: no GPU ", unknown, "; this machine has ",
      devices.empty() ? "none"
                      : absl::StrJoin(devices, ", ", [](std::string* out, const Device& device) {
                          absl::StrAppend(out, device.id, " (", device.uuid, ")");
                        })));
}

}  // namespace

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
  const std::string& type = options.slot_type;
  if (std::find(std::begin(kSlotTypes), std::end(kSlotTypes), type) == std::end(kSlotTypes)) {
    return absl::InvalidArgumentError(absl::StrCat("--slot-type ", type, " is unknown; use one of ",
                                                   absl::StrJoin(kSlotTypes, ", ")));
  }
  if (type == "none") return std::vector<Device>();
  if (type == "cpu") return std::vector<Device>{MakeCpuSlot()};
  std::vector<Device> devices = DetectGpus(options);
  if (!options.visible_gpus && options.environment_gpus) {
    devices = Select(devices, *options.environment_gpus).first;
  }
  if ((type == "auto" && devices.empty()) || type == "tpu") devices = DetectTpus(options.sys);
  if (options.visible_gpus) {
    DET_ASSIGN_OR_RETURN(devices, SelectVisible(devices, *options.visible_gpus));
  }
  if (type == "auto" && devices.empty()) devices = {MakeCpuSlot()};
  if (!devices.empty()) return devices;
  return absl::NotFoundError(absl::StrCat("--slot-type ", type,
                                          ": this machine has no such device that tasks may use; "
                                          "use --slot-type auto for the devices that it has"));
}

std::string ListDevices(const std::vector<Device>& devices) {
  std::string text;
  for (const Device& device : devices) {
    absl::StrAppend(&text, device.id, "\t", GetTypeName(device.type), "\t", device.uuid, "\t",
                    device.brand, "\n");
  }
  return text;
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
