// Reporting of metrics. Chief only; on other ranks every call does nothing.
//
// Training metrics go to a queue that a thread of its own sends in batches: the caller waits only
// when the queue (1,000 reports) is full, never drops. A validation first waits for what is queued,
// so reports reach the master in order. Off the cluster, lines on stdout.
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
  // Returns once stored; true when it is the best that the experiment has seen. Throws Error when
  // the master cannot be reached for longer than the retry limit.
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
