// Converts runs of the store to messages of the API.
//
// Any thread. Does no I/O.
#ifndef MASTER_API_TRIALS_CONVERT_RUN_H_
#define MASTER_API_TRIALS_CONVERT_RUN_H_

#include <vector>

#include "absl/time/time.h"
#include "det/api/v1/run.pb.h"
#include "master/api/common/live_trials.h"
#include "master/store/interfaces/runs.h"

namespace det::api {

v1::FlatRun ToProto(const store::RunRecord& run, const LiveTrials& live, absl::Time now);

// Returns the fixed columns of the table, then those of the project's values and metrics.
std::vector<v1::ProjectColumn> ToColumns(store::Table table,
                                         const std::vector<store::ValueColumn>& values,
                                         const std::vector<store::MetricName>& metrics);

}  // namespace det::api

#endif  // MASTER_API_TRIALS_CONVERT_RUN_H_
