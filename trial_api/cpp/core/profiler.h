// Reports the load of the chief's machine during training: metrics of the groups cpu, memory, disk,
// network and gpu, which the trial's page shows. `profiling: {enabled: true}` enables it for a
// Trial.
//
// Does nothing off the cluster and on ranks other than the chief. Called on the training thread;
// samples are taken on another thread.
#ifndef TRIAL_API_CPP_CORE_PROFILER_H_
#define TRIAL_API_CPP_CORE_PROFILER_H_

#include <chrono>

namespace det {

class Profiler {
 public:
  virtual ~Profiler() = default;

  // Starts the profiler. A report is the mean of `samples_per_report` samples. Does nothing if the
  // profiler is running. Throws Error for an interval below 0.1 s or fewer than one sample.
  virtual void On(std::chrono::milliseconds sampling_interval = std::chrono::seconds(1),
                  int samples_per_report = 10) = 0;
  // Stops the profiler.
  virtual void Off() = 0;
};

}  // namespace det

#endif  // TRIAL_API_CPP_CORE_PROFILER_H_
