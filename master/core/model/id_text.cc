#include "master/core/model/id_text.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace det::model {
namespace {

constexpr char kJobPrefix[] = "exp-";

}  // namespace

JobId JobOf(ExperimentId experiment) { return JobId(absl::StrCat(kJobPrefix, experiment.value())); }

std::optional<ExperimentId> ExperimentOf(const JobId& job) {
  absl::string_view digits = job.value();
  int32_t number = 0;
  if (!absl::ConsumePrefix(&digits, kJobPrefix) || !absl::SimpleAtoi(digits, &number)) {
    return std::nullopt;
  }
  // "exp-07" and "exp-+7" are no names of 7.
  const ExperimentId experiment(number);
  if (JobOf(experiment) != job) return std::nullopt;
  return experiment;
}

std::string AllocationPrefix(ExperimentId experiment) {
  return absl::StrCat(experiment.value(), ".");
}

std::optional<RunName> RunOf(const AllocationId& allocation) {
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

}  // namespace det::model
