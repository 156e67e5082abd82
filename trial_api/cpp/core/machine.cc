#include "trial_api/cpp/core/machine.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace det::core {
namespace {

constexpr double kSector = 512;  // unit of /proc/diskstats, independent of the disk
constexpr double kGiB = 1024.0 * 1024 * 1024;

std::vector<std::string> Words(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

// Returns 0 if the text is not a number.
double Number(const std::string& text) {
  double value = 0;
  std::istringstream(text) >> value;
  return value;
}

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string RunNvidiaSmi() {
  constexpr char kCommand[] =
      "nvidia-smi --query-gpu=uuid,utilization.gpu,memory.free --format=csv,noheader,nounits "
      "2>/dev/null </dev/null";
  std::FILE* const pipe = ::popen(kCommand, "re");
  if (pipe == nullptr) return "";
  std::string out;
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) out.append(buffer, n);
  ::pclose(pipe);
  return out;
}

}  // namespace

MachineSources ThisMachine() {
  // If there is no GPU at first, nvidia-smi is never started again.
  const bool has_gpu = !RunNvidiaSmi().empty();
  return {"", SteadySeconds, [has_gpu] { return has_gpu ? RunNvidiaSmi() : ""; }};
}

Machine::Machine(MachineSources sources) : sources_(std::move(sources)), last_(Read()) {}

MachineSample Machine::Sample() {
  const Counters before = std::exchange(last_, Read());
  const double seconds = std::max(last_.seconds - before.seconds, 1e-6);
  std::map<std::string, double> grown;
  for (const auto& [name, value] : last_.values) {
    const auto old = before.values.find(name);
    grown[name] = value - (old == before.values.end() ? 0 : old->second);
  }
  MachineSample sample;
  if (grown.count("cpu_total") > 0) {
    const double total = std::max(grown["cpu_total"], 1.0);
    sample["cpu"]["cpu_util_simple"] = 100 * (1 - grown["cpu_idle"] / total);
  }
  const auto rate = [&](const char* counter, const char* group, const char* name) {
    if (grown.count(counter) > 0) sample[group][name] = grown[counter] / seconds;
  };
  rate("disk_read", "disk", "disk_throughput_read");
  rate("disk_write", "disk", "disk_throughput_write");
  rate("net_recv", "network", "net_throughput_recv");
  rate("net_sent", "network", "net_throughput_sent");
  if (const double free = FreeMemory(); free > 0) sample["memory"]["memory_free"] = free / kGiB;
  if (MetricMap gpus = Gpus(); !gpus.empty()) sample["gpu"] = std::move(gpus);
  return sample;
}

Machine::Counters Machine::Read() const {
  Counters counters{sources_.seconds(), {}};
  auto& values = counters.values;
  if (const auto lines = Lines("/proc/stat"); !lines.empty()) {
    const auto words = Words(lines[0]);  // "cpu", user, nice, system, idle, iowait, ...
    for (size_t i = 1; i < std::min<size_t>(words.size(), 9); ++i) {
      values["cpu_total"] += Number(words[i]);
      if (i == 4 || i == 5) values["cpu_idle"] += Number(words[i]);
    }
  }
  for (const std::string& line : Lines("/proc/diskstats")) {
    const auto words = Words(line);
    // Only whole disks, not their partitions.
    std::error_code ignored;  // Entries that cannot be read are skipped.
    if (words.size() < 10 ||
        !std::filesystem::exists(sources_.root + "/sys/block/" + words[2], ignored)) {
      continue;
    }
    values["disk_read"] += Number(words[5]) * kSector;
    values["disk_write"] += Number(words[9]) * kSector;
  }
  for (const std::string& line : Lines("/proc/net/dev")) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;  // one of the two header lines
    const auto words = Words(line.substr(colon + 1));
    if (words.size() < 9 || Words(line.substr(0, colon)) == std::vector<std::string>{"lo"})
      continue;
    values["net_recv"] += Number(words[0]);
    values["net_sent"] += Number(words[8]);
  }
  return counters;
}

std::vector<std::string> Machine::Lines(const std::string& path) const {
  std::ifstream file(sources_.root + path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

double Machine::FreeMemory() const {
  for (const std::string& line : Lines("/proc/meminfo")) {
    const auto words = Words(line);
    if (words.size() > 1 && words[0] == "MemAvailable:") return Number(words[1]) * 1024;
  }
  return 0;
}

MetricMap Machine::Gpus() const {
  MetricMap gpus;
  std::istringstream lines(sources_.nvidia_smi());
  for (std::string line; std::getline(lines, line);) {
    std::replace(line.begin(), line.end(), ',', ' ');
    const auto words = Words(line);
    if (words.size() != 3) continue;
    // A GPU in MIG mode reports "[N/A]" as utilization.
    if (words[1].front() != '[') gpus[words[0] + "/gpu_util"] = Number(words[1]);
    if (words[2].front() != '[') gpus[words[0] + "/gpu_free_memory"] = Number(words[2]);
  }
  return gpus;
}

MachineSample Mean(const std::vector<MachineSample>& samples) {
  MachineSample sums;
  std::map<std::string, std::map<std::string, int>> counts;
  for (const MachineSample& sample : samples) {
    for (const auto& [group, metrics] : sample) {
      for (const auto& [name, value] : metrics) {
        sums[group][name] += value;
        ++counts[group][name];
      }
    }
  }
  for (auto& [group, metrics] : sums) {
    for (auto& [name, value] : metrics) value /= counts[group][name];
  }
  return sums;
}

}  // namespace det::core
