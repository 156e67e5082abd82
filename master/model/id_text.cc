#include "master/model/id_text.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
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

}  // namespace det::model
