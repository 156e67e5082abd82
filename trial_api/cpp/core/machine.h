// Reads Linux' counters of this machine's load. For the profiler; one thread.
#ifndef TRIAL_API_CPP_CORE_MACHINE_H_
#define TRIAL_API_CPP_CORE_MACHINE_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "trial_api/cpp/core/metrics.h"

namespace det::core {

// group -> name -> value
using MachineSample = std::map<std::string, MetricMap>;

struct MachineSources {
  std::string root;                         // prefix of /proc and /sys
  std::function<double()> seconds;          // a monotonic clock
  std::function<std::string()> nvidia_smi;  // a line "uuid, utilization in %, free MiB" per GPU
};

// Returns the sources of this machine.
MachineSources ThisMachine();

class Machine {
 public:
  explicit Machine(MachineSources sources);

  // Returns the load since the previous call or the constructor. Values that the machine does not
  // provide are omitted. CPU in percent, throughput in bytes per second, memory in GiB, that of
  // GPUs in MiB.
  MachineSample Sample();

 private:
  struct Counters {
    double seconds = 0;
    std::map<std::string, double> values;
  };
  Counters Read() const;
  std::vector<std::string> Lines(const std::string& path) const;
  double FreeMemory() const;
  MetricMap Gpus() const;

  const MachineSources sources_;
  Counters last_;
};

// Returns the mean of each metric over the samples that contain it.
MachineSample Mean(const std::vector<MachineSample>& samples);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_MACHINE_H_
