// Detects Google's TPUs on the PCI bus, by vendor and device number.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/device/detector.h"
#include "base/file.h"
#include "base/log.h"

namespace det::agent {
namespace {

constexpr char kGoogle[] = "0x1ae0";

// Google's network cards and disks have other numbers.
const std::map<std::string, std::string>& GetGenerations() {
  static const auto* const generations = new std::map<std::string, std::string>{
      {"0x0027", "TPU v3"},  {"0x0056", "TPU v4"},  {"0x005e", "TPU v4"},
      {"0x0062", "TPU v5p"}, {"0x0063", "TPU v5e"}, {"0x006f", "TPU v6e"}};
  return *generations;
}

std::string ReadWord(const std::filesystem::path& path) {
  const absl::StatusOr<std::string> text = base::ReadFile(path.string());
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

}  // namespace

std::vector<Device> DetectTpus(const std::string& sys) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (const std::filesystem::directory_entry& entry :
       std::filesystem::directory_iterator(sys + "/bus/pci/devices", error)) {
    found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());  // libtpu numbers the chips in this order.
  std::vector<Device> devices;
  for (const std::filesystem::path& path : found) {
    if (ReadWord(path / "vendor") != kGoogle) continue;
    const auto generation = GetGenerations().find(ReadWord(path / "device"));
    if (generation == GetGenerations().end()) continue;
    devices.push_back({.id = static_cast<int>(devices.size()),
                       .type = DeviceType::kTpu,
                       .brand = absl::StrCat("Google ", generation->second),
                       .uuid = path.filename().string(),
                       .island = 0});  // All chips of a machine are linked.
  }
  if (devices.empty()) DET_LOG(DEBUG) << "no TPU found" << base::Field("sys", sys);
  return devices;
}

}  // namespace det::agent
