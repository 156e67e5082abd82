#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "agent/device/detector.h"
#include "base/file.h"

namespace det::agent {

std::string GetCpuBrand() {
  const absl::StatusOr<std::string> text = base::ReadFile("/proc/cpuinfo");
  if (!text.ok()) return "CPU";
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (!absl::StartsWith(line, "model name")) continue;
    const size_t colon = line.find(':');
    if (colon == absl::string_view::npos) break;
    return std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return "CPU";
}

Device MakeCpuSlot() {
  return {.id = 0, .type = DeviceType::kCpu, .brand = GetCpuBrand(), .uuid = "cpu-0"};
}

}  // namespace det::agent
