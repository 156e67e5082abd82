// What a running trial reports, as an event of the cluster, and whether it may. Any thread.
#ifndef MASTER_API_RUNTIME_TRIAL_REPORTS_H_
#define MASTER_API_RUNTIME_TRIAL_REPORTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "det/trial/v1/trial.pb.h"
#include "master/core/cluster/event.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// CheckpointReported or CheckpointDamaged; `now` where the report does not say when.
// INVALID_ARGUMENT for what is no UUID.
absl::StatusOr<cluster::Event> ToEvent(const det::trial::v1::ReportCheckpointRequest& request,
                                       const model::AllocationId& allocation, absl::Time now);

// ALREADY_EXISTS for the UUID of another trial's checkpoint, which stays as it is. Asks the store:
// blocks.
absl::Status CheckUuidIsOwn(store::Store& store, const std::string& uuid,
                            const model::AllocationId& allocation);

}  // namespace det::api

#endif  // MASTER_API_RUNTIME_TRIAL_REPORTS_H_
