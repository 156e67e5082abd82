// Reporting of metrics. Only reports of the chief are sent; on other ranks every call does nothing.
// Called on any thread.
//
// Reports are written to a queue on disk, from which a thread sends them in batches and in order,
// even if the master was unavailable for a long time. The caller waits only if the queue (64 MiB,
// or $DET_OUTBOX_LIMIT bytes) is full; nothing is dropped. Reports that a process could not send
// before it ended are sent by the trial's next attempt on that node. Off the cluster, reports are
// printed to stdout.
#ifndef TRIAL_API_CPP_CORE_METRICS_H_
#define TRIAL_API_CPP_CORE_METRICS_H_

#include <cstdint>
#include <map>
#include <string>

namespace det {

using MetricMap = std::map<std::string, double>;

class Metrics {
 public:
  virtual ~Metrics() = default;

  // Reports training metrics, by name, after `steps_completed` batches.
  virtual void ReportTraining(int64_t steps_completed, const MetricMap& metrics) = 0;
  // Reports validation metrics after `steps_completed` batches. Returns whether it is the best
  // validation of the experiment so far. Waits up to a second for the master's response; without it
  // returns true, so that a checkpoint is saved.
  virtual bool ReportValidation(int64_t steps_completed, const MetricMap& metrics) = 0;
  // Reports metrics of a user-defined group; its name must not contain '.'.
  virtual void Report(const std::string& group, int64_t steps_completed,
                      const MetricMap& metrics) = 0;
  // Reports the progress of the training, from 0 to 1.
  virtual void ReportProgress(double fraction) = 0;
  // Waits until all reports are stored by the master. Throws Error if the master rejects one.
  virtual void Flush() = 0;
};

}  // namespace det

#endif  // TRIAL_API_CPP_CORE_METRICS_H_
