#include "master/api/common/task_trial.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace det::api {

absl::StatusOr<store::TrialRecord> GetTrialOfTask(store::Store& store, const std::string& task) {
  const std::vector<std::string> parts = absl::StrSplit(task, '.');
  int trial = 0;
  if (parts.size() == 2 && absl::SimpleAtoi(parts[1], &trial)) {
    absl::StatusOr<store::TrialRecord> record = store.GetBareTrial(model::TrialId(trial));
    if (!record.ok() && !absl::IsNotFound(record.status())) return record;
    if (record.ok() && record->trial.task.value() == task) return record;
  }
  return absl::NotFoundError(absl::StrCat("task ", task, " not found"));
}

}  // namespace det::api
