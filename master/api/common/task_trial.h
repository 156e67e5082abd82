// Finds the trial of a task. Called by the task and the log fields service on the pool; blocks.
#ifndef MASTER_API_COMMON_TASK_TRIAL_H_
#define MASTER_API_COMMON_TASK_TRIAL_H_

#include <string>

#include "absl/status/statusor.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// `task` has the form "<experiment>.<trial>". Returns NOT_FOUND if there is no such task.
absl::StatusOr<store::TrialRecord> GetTrialOfTask(store::Store& store, const std::string& task);

}  // namespace det::api

#endif  // MASTER_API_COMMON_TASK_TRIAL_H_
