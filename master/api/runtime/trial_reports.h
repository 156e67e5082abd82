// Converts reports of running trials into events and checks them. Any thread.
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

// Returns CheckpointDamaged if the request has `damage`, else CheckpointReported. A report without
// a time gets the time `now`. Returns INVALID_ARGUMENT for an invalid UUID, size or
// number of steps.
absl::StatusOr<cluster::Event> ToEvent(const det::trial::v1::ReportCheckpointRequest& request,
                                       const model::AllocationId& allocation, absl::Time now);

// Returns ALREADY_EXISTS if the UUID belongs to a checkpoint of another trial, which must not be
// overwritten. Reads the store: blocks.
absl::Status CheckUuidIsOwn(store::Store& store, const std::string& uuid,
                            const model::AllocationId& allocation);

}  // namespace det::api

#endif  // MASTER_API_RUNTIME_TRIAL_REPORTS_H_
