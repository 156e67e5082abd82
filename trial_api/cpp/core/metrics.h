// Reporting of metrics. Chief only; on other ranks every call does nothing.
//
// Reports go to a queue on disk, from which a thread of its own sends them in batches and in order,
// also when the master has been away for long: the caller waits only when the queue (64 MiB, or
// $DET_OUTBOX_LIMIT bytes) is full, nothing is dropped. What a process could not send before it
// died is sent by the trial's next run on that node. Off the cluster, lines on stdout.
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

  virtual void ReportTraining(int64_t steps_completed, const MetricMap& metrics) = 0;
  // Whether it is the best that the experiment has seen. Waits a second for the master's word;
  // without it the answer is yes, so that a checkpoint is saved.
  virtual bool ReportValidation(int64_t steps_completed, const MetricMap& metrics) = 0;
  // A group of the user's own; its name holds no '.'.
  virtual void Report(const std::string& group, int64_t steps_completed,
                      const MetricMap& metrics) = 0;
  virtual void ReportProgress(double fraction) = 0;
  // Waits until everything reported is stored.
  virtual void Flush() = 0;
};

}  // namespace det

#endif  // TRIAL_API_CPP_CORE_METRICS_H_
