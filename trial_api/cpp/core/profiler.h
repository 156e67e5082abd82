// How busy the chief's machine is while it trains: metrics of the groups cpu, memory, disk, network
// and gpu, which the trial's page shows. `profiling: {enabled: true}` turns it on for a Trial.
//
// Nothing off the cluster and on ranks other than the chief. Used on the training thread; samples
// are taken on a thread of its own.
#ifndef TRIAL_API_CPP_CORE_PROFILER_H_
#define TRIAL_API_CPP_CORE_PROFILER_H_

#include <chrono>

namespace det {

class Profiler {
 public:
  virtual ~Profiler() = default;

  // From now on. A report is the mean of `samples_per_report` samples. Does nothing when it is on
  // already. Throws Error for an interval below 0.1 s, or fewer than one sample.
  virtual void On(std::chrono::milliseconds sampling_interval = std::chrono::seconds(1),
                  int samples_per_report = 10) = 0;
  virtual void Off() = 0;
};

}  // namespace det

#endif  // TRIAL_API_CPP_CORE_PROFILER_H_
