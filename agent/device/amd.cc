// Detects AMD GPUs in the topology of the kernel driver KFD: a directory for each node, whose
// properties are lines with a name and a number (Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c).
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "agent/device/detector.h"
#include "base/file.h"
#include "base/log.h"

namespace det::agent {
namespace {

namespace fs = std::filesystem;

constexpr char kNodes[] = "class/kfd/kfd/topology/nodes";
constexpr uint64_t kXgmi = 11;  // CRAT_IOLINK_TYPE_XGMI

using Properties = std::map<std::string, uint64_t>;

Properties ReadProperties(const fs::path& path) {
  Properties properties;
  const absl::StatusOr<std::string> text = base::ReadFile(path.string());
  if (!text.ok()) return properties;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    const std::pair<std::string, std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    uint64_t value = 0;
    if (absl::SimpleAtoi(words.second, &value)) properties[words.first] = value;
  }
  return properties;
}

std::string FirstLine(const fs::path& path) {
  const absl::StatusOr<std::string> text = base::ReadFile(path.string());
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

// Returns the numbered nodes in ascending order.
std::vector<std::pair<int, fs::path>> ListNodes(const fs::path& folder) {
  std::vector<std::pair<int, fs::path>> nodes;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    int number = 0;
    if (absl::SimpleAtoi(entry.path().filename().string(), &number)) {
      nodes.emplace_back(number, entry.path());
    }
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

// Returns "AMD Instinct MI300X", or "AMD GPU gfx942" if the name is unknown.
std::string GetBrand(const std::string& sys, Properties& properties) {
  const std::string named = FirstLine(absl::StrCat(
      sys, "/class/drm/renderD", properties["drm_render_minor"], "/device/product_name"));
  if (!named.empty()) return named;
  const uint64_t version = properties["gfx_target_version"];
  return absl::StrFormat("AMD GPU gfx%d%d%x", version / 10000, version / 100 % 100, version % 100);
}

// Merges the islands of two devices.
void Merge(std::vector<Device>& devices, int a, int b) {
  const auto [low, high] =
      std::minmax({devices[static_cast<size_t>(a)].island, devices[static_cast<size_t>(b)].island});
  for (Device& device : devices) {
    if (device.island == high) device.island = low;
  }
}

// Numbers the islands from 0, in the order of the slots.
void NumberIslands(std::vector<Device>& devices) {
  std::map<int, int> numbers;
  for (Device& device : devices) {
    device.island = numbers.emplace(device.island, static_cast<int>(numbers.size())).first->second;
  }
}

}  // namespace

std::vector<Device> DetectAmdGpus(const std::string& sys) {
  std::vector<Device> devices;
  std::map<int, int> slots;  // node -> slot
  for (const auto& [node, path] : ListNodes(fs::path(sys) / kNodes)) {
    Properties properties = ReadProperties(path / "properties");
    // The node is a CPU, or a GPU that this process may not use.
    if (properties["simd_count"] == 0) continue;
    const int id = static_cast<int>(devices.size());
    const uint64_t unique = properties["unique_id"];
    slots[node] = id;
    devices.push_back(
        {.id = id,
         .type = DeviceType::kRocm,
         .brand = GetBrand(sys, properties),
         .uuid = unique == 0 ? absl::StrCat(id) : absl::StrFormat("GPU-%016x", unique),
         .island = id});
  }
  std::map<uint64_t, int> hives;  // hive -> one of its slots
  for (const auto& [node, slot] : slots) {
    const fs::path path = fs::path(sys) / kNodes / absl::StrCat(node);
    const uint64_t hive = ReadProperties(path / "properties")["hive_id"];
    if (hive != 0) Merge(devices, slot, hives.emplace(hive, slot).first->second);
    for (const auto& [link, link_path] : ListNodes(path / "io_links")) {
      Properties ends = ReadProperties(link_path / "properties");
      const auto other = slots.find(static_cast<int>(ends["node_to"]));
      if (ends["type"] == kXgmi && other != slots.end()) Merge(devices, slot, other->second);
    }
  }
  NumberIslands(devices);
  if (devices.empty()) DET_LOG(DEBUG) << "no AMD driver found" << base::Field("sys", sys);
  return devices;
}

}  // namespace det::agent
