// Finds the trial of a task. Called by the task and the log fields service on the pool; blocks.
#ifndef MASTER_API_COMMON_TASK_TRIAL_H_
#define MASTER_API_COMMON_TASK_TRIAL_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/core/experiment/allocation.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// `task` has the form "<experiment>.<trial>", and "<experiment>.<trial>-<n>" after the n-th time
// that the experiment was continued. Returns NOT_FOUND if there is no such task.
absl::StatusOr<store::TrialRecord> GetTrialOfTask(store::Store& store, const std::string& task);

// One of the tasks of a trial: the attempts from one continuation of its experiment to the next.
struct TrialTask {
  store::TrialRecord record;
  std::vector<experiment::Allocation> allocations;
  absl::Time start_time;
  std::optional<absl::Time> end_time;
  bool is_first = true;
  std::optional<absl::Time> next_start;  // of the trial's next task
};
absl::StatusOr<TrialTask> ReadTrialTask(store::Store& store, const std::string& task);

}  // namespace det::api

#endif  // MASTER_API_COMMON_TASK_TRIAL_H_
