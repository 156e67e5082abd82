// What programs of the existing library report, as a program of the Trial API would report it.
//
// Any thread. Does no I/O.
#ifndef MASTER_API_RUNTIME_TASK_REPORTS_H_
#define MASTER_API_RUNTIME_TASK_REPORTS_H_

#include <string>

#include "absl/time/time.h"
#include "det/api/v1/checkpoint.pb.h"
#include "det/api/v1/task_runtime.pb.h"
#include "det/trial/v1/trial.pb.h"
#include "master/core/model/id_text.h"
#include "master/core/model/reports.h"

namespace det::api {

// `run`: which start of the trial reports it.
det::trial::v1::ReportMetricsRequest ToReport(const v1::TrialMetrics& given,
                                              const std::string& group, int run);
det::trial::v1::ReportCheckpointRequest ToReport(const v1::Checkpoint& given, model::TrialId id);
// `now`: the time of one that says none.
model::LogLine ToLine(const v1::TaskLog& given, const model::RunName& run,
                      const model::AllocationId& allocation, absl::Time now);

}  // namespace det::api

#endif  // MASTER_API_RUNTIME_TASK_REPORTS_H_
