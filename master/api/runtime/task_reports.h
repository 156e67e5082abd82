// Converts reports of programs that use the predecessor's library into requests of the Trial API
// and log lines.
//
// Any thread. Does no I/O.
#ifndef MASTER_API_RUNTIME_TASK_REPORTS_H_
#define MASTER_API_RUNTIME_TASK_REPORTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "det/api/v1/checkpoint.pb.h"
#include "det/api/v1/task_runtime.pb.h"
#include "det/trial/v1/trial.pb.h"
#include "master/core/model/ids.h"
#include "master/core/model/reports.h"

namespace det::api {

// `attempt` is the number of the attempt of the trial that sent the report (`trial_run_id`).
det::trial::v1::ReportMetricsRequest ToReport(const v1::TrialMetrics& given,
                                              const std::string& group, int attempt);
// Returns INVALID_ARGUMENT if steps_completed of the metadata cannot be a number of steps.
absl::StatusOr<det::trial::v1::ReportCheckpointRequest> ToReport(const v1::Checkpoint& given,
                                                                 model::TrialId id);
// A line without a timestamp gets the time `now`.
model::LogLine ToLine(const v1::TaskLog& given, const model::TaskId& task,
                      const model::AllocationId& allocation, absl::Time now);

}  // namespace det::api

#endif  // MASTER_API_RUNTIME_TASK_REPORTS_H_
