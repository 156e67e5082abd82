#include "master/api/common/task_trial.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace det::api {
namespace {

// Returns the number of the task among those of the trial; nullopt if the trial has no such task.
std::optional<int> FindTaskNumber(const experiment::Trial& trial, const std::string& task) {
  const int num_tasks = static_cast<int>(trial.continued_runs.size()) + 1;
  for (int i = 0; i < num_tasks; ++i) {
    if (experiment::GetTask(trial, i).value() == task) return i;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<store::TrialRecord> GetTrialOfTask(store::Store& store, const std::string& task) {
  const std::vector<std::string> parts = absl::StrSplit(task, absl::ByAnyChar(".-"));
  int trial = 0;
  if (parts.size() >= 2 && absl::SimpleAtoi(parts[1], &trial)) {
    absl::StatusOr<store::TrialRecord> record = store.GetBareTrial(model::TrialId(trial));
    if (!record.ok() && !absl::IsNotFound(record.status())) return record;
    if (record.ok() && FindTaskNumber(record->trial, task)) return record;
  }
  return absl::NotFoundError(absl::StrCat("task ", task, " not found"));
}

absl::StatusOr<TrialTask> ReadTrialTask(store::Store& store, const std::string& task) {
  TrialTask out;
  DET_ASSIGN_OR_RETURN(out.record, GetTrialOfTask(store, task));
  const experiment::Trial& trial = out.record.trial;
  const int number = *FindTaskNumber(trial, task);
  out.is_first = number == 0;
  const bool is_last = number == static_cast<int>(trial.continued_runs.size());
  out.start_time = trial.created_at;
  if (is_last) out.end_time = trial.ended_at;
  DET_ASSIGN_OR_RETURN(auto allocations, store.ListAllocations(trial.task));
  for (experiment::Allocation& allocation : allocations) {
    const int other = experiment::GetTaskNumber(trial, allocation.run_id);
    if (other == number) {
      if (out.allocations.empty() && !out.is_first) out.start_time = allocation.queued_at;
      if (!is_last) out.end_time = allocation.ended_at;
      out.allocations.push_back(std::move(allocation));
    } else if (other > number && !out.next_start) {
      out.next_start = allocation.queued_at;
    }
  }
  if (!out.end_time) out.end_time = out.next_start;
  return out;
}

}  // namespace det::api
