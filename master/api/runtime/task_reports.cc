#include "master/api/runtime/task_reports.h"

#include <cstdint>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "master/api/common/convert.h"

namespace det::api {

namespace trial = det::trial::v1;

trial::ReportMetricsRequest ToReport(const v1::TrialMetrics& given, const std::string& group,
                                     int attempt) {
  trial::ReportMetricsRequest out;
  out.set_trial_id(given.trial_id());
  out.set_trial_run_id(attempt);
  trial::MetricReport* report = out.add_reports();
  report->set_group(group);
  report->set_steps_completed(given.steps_completed());
  if (given.has_report_time()) *report->mutable_report_time() = given.report_time();
  *report->mutable_metrics() = given.metrics().avg_metrics();
  *report->mutable_batch_metrics() = given.metrics().batch_metrics();
  return out;
}

absl::StatusOr<trial::ReportCheckpointRequest> ToReport(const v1::Checkpoint& given,
                                                        model::TrialId id) {
  trial::ReportCheckpointRequest out;
  out.set_trial_id(id.value());
  out.set_uuid(given.uuid());
  const auto& fields = given.metadata().fields();
  const auto steps = fields.find("steps_completed");
  if (steps != fields.end()) {
    const double number = steps->second.number_value();
    if (!(number >= 0 && number <= std::numeric_limits<int32_t>::max())) {
      return absl::InvalidArgumentError(absl::StrCat("metadata: steps_completed is ", number,
                                                     "; expected the number of trained batches"));
    }
    out.set_steps_completed(static_cast<int32_t>(number));
  }
  *out.mutable_resources() = given.resources();
  *out.mutable_metadata() = given.metadata();
  if (given.has_report_time()) *out.mutable_report_time() = given.report_time();
  return out;
}

model::LogLine ToLine(const v1::TaskLog& given, const model::TaskId& task,
                      const model::AllocationId& allocation, absl::Time now) {
  model::LogLine line;
  line.task = task;
  line.allocation = allocation;
  line.agent = given.agent_id();
  line.container = given.container_id();
  line.time = given.has_timestamp() ? FromProto(given.timestamp()) : now;
  if (given.has_rank()) line.rank = given.rank();
  if (given.has_rank_id()) line.rank = given.rank_id();
  line.level = static_cast<model::LogLevel>(given.level());
  line.stdtype = given.stdtype();
  line.source = given.source();
  line.text = given.log();
  // A \r alone stays: the next line overwrites this one.
  while (absl::EndsWith(line.text, "\n")) {
    line.text.pop_back();
    if (absl::EndsWith(line.text, "\r")) line.text.pop_back();
  }
  return line;
}

}  // namespace det::api
