// Tasks are trials: which trial a task is of. Asked by the task and the log fields service on the
// pool; blocks.
#ifndef MASTER_API_COMMON_TASK_TRIAL_H_
#define MASTER_API_COMMON_TASK_TRIAL_H_

#include <string>

#include "absl/status/statusor.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// Of the task "<experiment>.<trial>"; NOT_FOUND for a name of no task.
absl::StatusOr<store::TrialRecord> TrialOf(store::Store& store, const std::string& task);

}  // namespace det::api

#endif  // MASTER_API_COMMON_TASK_TRIAL_H_
