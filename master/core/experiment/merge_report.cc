#include "master/core/experiment/merge_report.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace det::experiment {
namespace {

constexpr size_t kMaxShown = 200;  // bytes of a value in an error

std::string Show(const model::Value& value) {
  const std::string json = value.ToJson();
  if (json.size() <= kMaxShown) return json;
  return absl::StrCat("a value of ", json.size(), " bytes");
}

// Describes both values of a metric that was reported twice.
std::string Describe(const model::MetricReport& report, const model::Value& before,
                     const model::Value& now) {
  return absl::StrCat("trial ", report.trial.value(), " has reported ", Show(before), " at step ",
                      report.steps_completed, " of group ", report.group, ", and now reports ",
                      Show(now));
}

}  // namespace

absl::StatusOr<model::Value> MergeReport(model::MetricReport& stored,
                                         const model::MetricReport& report) {
  model::Value::Object added;
  if (const auto* metrics = report.metrics.AsObject()) {
    for (const auto& [name, value] : *metrics) {
      const model::Value* before = stored.metrics.Find(name);
      if (before == nullptr) {
        added.emplace(name, value);
      } else if (*before != value) {
        return absl::InvalidArgumentError(absl::StrCat(
            "overwriting existing metric keys is not supported, conflicting key: ", name, ": ",
            Describe(report, *before, value)));
      }
    }
  }
  if (stored.batch_metrics.is_null()) {
    stored.batch_metrics = report.batch_metrics;
  } else if (!report.batch_metrics.is_null() && report.batch_metrics != stored.batch_metrics) {
    return absl::InvalidArgumentError(
        absl::StrCat("overwriting existing batch metrics is not supported: ",
                     Describe(report, stored.batch_metrics, report.batch_metrics)));
  }
  if (!added.empty()) {
    if (stored.metrics.AsObject() == nullptr) stored.metrics = model::Value::Object();
    stored.metrics.MutableObject()->insert(added.begin(), added.end());
  }
  return added;
}

}  // namespace det::experiment
