// Linux' counters of what this machine does. For the profiler; one thread.
#ifndef TRIAL_API_CPP_CORE_MACHINE_H_
#define TRIAL_API_CPP_CORE_MACHINE_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "trial_api/cpp/core/metrics.h"

namespace det::core {

// By group, then by name.
using MachineSample = std::map<std::string, MetricMap>;

struct MachineSources {
  std::string root;                         // before /proc and /sys
  std::function<double()> seconds;          // a clock that only goes forward
  std::function<std::string()> nvidia_smi;  // a line "uuid, utilisation in %, free MiB" per GPU
};

// Those of this machine.
MachineSources ThisMachine();

class Machine {
 public:
  explicit Machine(MachineSources sources);

  // Since the call before, or since the start. What the machine does not tell is left out. cpu in
  // %, throughput in bytes per second, memory in GiB, that of GPUs in MiB.
  MachineSample Sample();

 private:
  struct Counters {
    double seconds = 0;
    std::map<std::string, double> told;
  };
  Counters Read() const;
  std::vector<std::string> Lines(const std::string& path) const;
  double FreeMemory() const;
  MetricMap Gpus() const;

  const MachineSources sources_;
  Counters last_;
};

// Of each metric over the samples that have it.
MachineSample Mean(const std::vector<MachineSample>& samples);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_MACHINE_H_
