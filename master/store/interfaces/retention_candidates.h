// Input of the retention policy (experiment/retention.h), read from the store. Any thread; blocks.
#ifndef MASTER_STORE_INTERFACES_RETENTION_CANDIDATES_H_
#define MASTER_STORE_INTERFACES_RETENTION_CANDIDATES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "master/core/experiment/retention.h"
#include "master/store/interfaces/store.h"

namespace det::store {

// The experiment's checkpoints that are COMPLETED or PARTIALLY_DELETED, oldest first. Damaged
// checkpoints are left to the user.
absl::StatusOr<std::vector<experiment::RetentionCandidate>> ListRetentionCandidates(Store& store,
                                                                            model::ExperimentId id);

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_RETENTION_CANDIDATES_H_
