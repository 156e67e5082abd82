#include <sched.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "agent/device/detector.h"
#include "base/file.h"

namespace det::agent {
namespace {

// Returns the words of a file; empty if it does not exist.
std::vector<std::string> ReadWords(const std::string& path) {
  const absl::StatusOr<std::string> text = base::ReadFile(path);
  if (!text.ok()) return {};
  return absl::StrSplit(*text, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
}

}  // namespace

std::optional<double> GetMachineCpus(const std::string& sys) {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return std::nullopt;
  double cpus = CPU_COUNT(&set);
  // "max 100000", or microseconds and the period that they apply to.
  const std::vector<std::string> quota = ReadWords(sys + "/fs/cgroup/cpu.max");
  double used = 0;
  double period = 0;
  if (quota.size() == 2 && absl::SimpleAtod(quota[0], &used) &&
      absl::SimpleAtod(quota[1], &period) && used > 0 && period > 0) {
    cpus = std::min(cpus, used / period);
  }
  return cpus;
}

std::optional<int64_t> GetMachineMemory(const std::string& sys) {
  // The first line is "MemTotal:  131072 kB".
  const std::vector<std::string> words = ReadWords("/proc/meminfo");
  int64_t kilobytes = 0;
  if (words.size() < 2 || words[0] != "MemTotal:" || !absl::SimpleAtoi(words[1], &kilobytes)) {
    return std::nullopt;
  }
  int64_t bytes = kilobytes * 1024;
  const std::vector<std::string> limit = ReadWords(sys + "/fs/cgroup/memory.max");
  int64_t limit_bytes = 0;
  if (limit.size() == 1 && absl::SimpleAtoi(limit[0], &limit_bytes))
    bytes = std::min(bytes, limit_bytes);
  return bytes;
}

}  // namespace det::agent
