// Checks of reports that users send for trials; those of tasks are checked by what the token is
// for.
//
// Used by task_runtime_service.cc. Any thread. Does no I/O.
#ifndef MASTER_API_RUNTIME_USER_REPORTS_H_
#define MASTER_API_RUNTIME_USER_REPORTS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "det/api/v1/checkpoint.pb.h"
#include "det/api/v1/task_runtime.pb.h"
#include "google/protobuf/struct.pb.h"
#include "master/auth/permissions.h"
#include "master/core/model/ids.h"
#include "master/core/model/value.h"

namespace det::api {

inline bool IsUser(const auth::Principal& principal) {
  return principal.kind == auth::PrincipalKind::kUser;
}

// INVALID_ARGUMENT unless it is between 0 and 1.
absl::Status CheckProgress(double progress);

// INVALID_ARGUMENT unless the checkpoint is complete, or has no state.
absl::Status CheckReportedState(const v1::Checkpoint& checkpoint);

// INVALID_ARGUMENT if there are no lines, or lines of several tasks.
absl::Status CheckOneTask(const v1::PostTaskLogsRequest& request);

// INVALID_ARGUMENT unless it is positive and the lines of this allocation are not numbered by the
// cluster's agents.
absl::Status CheckSequence(int64_t sequence, const model::AllocationId& allocation);

// Converts a checkpoint storage, with its keys sorted. INVALID_ARGUMENT if its type is unknown. Its
// other fields are not checked, since only the program uses them.
absl::StatusOr<model::Value> ToStorage(const google::protobuf::Struct& storage);

}  // namespace det::api

#endif  // MASTER_API_RUNTIME_USER_REPORTS_H_
