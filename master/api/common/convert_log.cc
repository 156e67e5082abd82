#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "master/api/common/convert.h"

namespace det::api {
namespace {

constexpr int kShownContainerLength = 8;

// "[2026-01-02T03:04:05.000000Z] 1.2.0    [rank=1] || INFO: loaded 10 files", the form in which
// existing clients display lines.
std::string FormatLine(const model::LogLine& line) {
  std::string text = absl::StrFormat(
      "[%s] %-*s%s || ", absl::FormatTime("%E4Y-%m-%dT%H:%M:%E6SZ", line.time, absl::UTCTimeZone()),
      kShownContainerLength, GetContainer(line).substr(0, kShownContainerLength).c_str(),
      line.rank ? absl::StrCat(" [rank=", *line.rank, "]") : "");
  if (line.level != model::LogLevel::kUnknown) {
    const std::string& name = v1::LogLevel_Name(static_cast<v1::LogLevel>(line.level));
    absl::StrAppend(&text, absl::StripPrefix(name, "LOG_LEVEL_"), ": ");
  }
  // The line of a progress bar ends in \r.
  absl::StrAppend(&text, absl::StripSuffix(line.text, "\r"));
  // Existing clients print the message without adding the end of the line.
  if (!absl::EndsWith(text, "\n")) text.push_back('\n');
  return text;
}

template <class Response>
Response ToLog(const store::LogRecord& record) {
  const model::LogLine& line = record.line;
  Response out;
  out.set_id(record.id);
  *out.mutable_timestamp() = ToProto(line.time);
  out.set_message(FormatLine(line));
  out.set_level(static_cast<v1::LogLevel>(line.level));
  out.set_agent_id(line.agent);
  out.set_container_id(GetContainer(line));
  if (line.rank) out.set_rank_id(*line.rank);
  out.set_log(line.text);
  out.set_source(line.source);
  out.set_stdtype(line.stdtype);
  return out;
}

}  // namespace

std::string GetContainer(const model::LogLine& line) {
  return line.container.empty() ? line.allocation.value() : line.container;
}

v1::TaskLogsResponse ToTaskLog(const store::LogRecord& record) {
  auto out = ToLog<v1::TaskLogsResponse>(record);
  out.set_task_id(record.line.task.value());
  out.set_allocation_id(record.line.allocation.value());
  return out;
}

v1::TrialLogsResponse ToTrialLog(const store::LogRecord& record, model::TrialId trial) {
  auto out = ToLog<v1::TrialLogsResponse>(record);
  out.set_trial_id(trial.value());
  return out;
}

}  // namespace det::api
