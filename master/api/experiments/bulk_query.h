// Converts the filters with which a request selects experiments.
#ifndef MASTER_API_EXPERIMENTS_BULK_QUERY_H_
#define MASTER_API_EXPERIMENTS_BULK_QUERY_H_

#include "absl/status/statusor.h"
#include "det/api/v1/experiment_action.pb.h"
#include "master/store/interfaces/records.h"

namespace det::api {

// Sets everything but the project, the excluded experiments and what the caller may see.
// INVALID_ARGUMENT for a state that does not exist.
absl::StatusOr<store::ExperimentQuery> ToBulkQuery(const v1::BulkExperimentFilters& filters);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_BULK_QUERY_H_
