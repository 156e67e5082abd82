// What a running trial reports, as an event of the cluster. Pure; any thread.
#ifndef MASTER_SERVICE_TRIAL_REPORTS_H_
#define MASTER_SERVICE_TRIAL_REPORTS_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "det/trial/v1/trial.pb.h"
#include "master/cluster/event.h"

namespace det::service {

// CheckpointReported or CheckpointDamaged; `now` where the report does not say when.
// INVALID_ARGUMENT for what is no UUID.
absl::StatusOr<cluster::Event> ToEvent(const det::trial::v1::ReportCheckpointRequest& request,
                                       const model::AllocationId& allocation, absl::Time now);

}  // namespace det::service

#endif  // MASTER_SERVICE_TRIAL_REPORTS_H_
