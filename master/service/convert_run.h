// Between runs of the store and the messages of the API.
//
// Any thread. Does no I/O.
#ifndef MASTER_SERVICE_CONVERT_RUN_H_
#define MASTER_SERVICE_CONVERT_RUN_H_

#include <vector>

#include "absl/time/time.h"
#include "det/api/v1/run.pb.h"
#include "master/service/live.h"
#include "master/store/runs.h"

namespace det::service {

det::api::v1::FlatRun ToProto(const store::RunRecord& run, const LiveTrials& live, absl::Time now);

// The fixed columns, then what the project's runs have.
std::vector<det::api::v1::ProjectColumn> ToColumns(store::Table table,
                                                   const std::vector<store::ValueColumn>& values,
                                                   const std::vector<store::MetricName>& metrics);

}  // namespace det::service

#endif  // MASTER_SERVICE_CONVERT_RUN_H_
