#include "master/core/model/id_text.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace det::model {
namespace {

constexpr char kJobPrefix[] = "exp-";

}  // namespace

JobId ToJobId(ExperimentId experiment) {
  return JobId(absl::StrCat(kJobPrefix, experiment.value()));
}

std::optional<ExperimentId> ParseJobId(const JobId& job) {
  absl::string_view digits = job.value();
  int32_t number = 0;
  if (!absl::ConsumePrefix(&digits, kJobPrefix) || !absl::SimpleAtoi(digits, &number)) {
    return std::nullopt;
  }
  // "exp-07" and "exp-+7" are not ids of experiment 7.
  const ExperimentId experiment(number);
  if (ToJobId(experiment) != job) return std::nullopt;
  return experiment;
}

std::string AllocationPrefix(ExperimentId experiment) {
  return absl::StrCat(experiment.value(), ".");
}

std::optional<RunName> ParseAllocationId(const AllocationId& allocation) {
  const std::vector<absl::string_view> parts = absl::StrSplit(allocation.value(), '.');
  int experiment = 0;
  int trial = 0;
  int run = 0;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &experiment) ||
      !absl::SimpleAtoi(parts[1], &trial) || !absl::SimpleAtoi(parts[2], &run)) {
    return std::nullopt;
  }
  return RunName{.experiment = ExperimentId(experiment),
                 .trial = TrialId(trial),
                 .run = run,
                 .task = TaskId(absl::StrCat(parts[0], ".", parts[1]))};
}

bool IsOtherTask(const TaskId& task) {
  const std::string& id = task.value();
  if (id.size() != 36) return false;
  for (size_t i = 0; i < id.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? id[i] != '-' : !absl::ascii_isxdigit(id[i])) return false;
  }
  return true;
}

std::optional<TaskId> ParseOtherTask(const AllocationId& allocation) {
  const std::string& id = allocation.value();
  const size_t dot = id.find('.');
  int run = 0;
  if (dot == id.npos || !absl::SimpleAtoi(id.substr(dot + 1), &run)) return std::nullopt;
  const TaskId task(id.substr(0, dot));
  if (!IsOtherTask(task)) return std::nullopt;
  return task;
}

}  // namespace det::model
