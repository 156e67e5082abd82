#include "cli/logs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "cli/format.h"
#include "proto/http_rule.h"

namespace det::cli {
namespace {

template <class Line>
std::string FormatLine(const Line& line, const Style& style) {
  const std::string time =
      absl::FormatTime("%H:%M:%S ", ToTime(line.timestamp()), absl::LocalTimeZone());
  // Only a master of the previous version leaves `log` out.
  const bool is_old = line.log().empty() && !absl::StrContains(line.message(), " || ");
  // The line of a progress bar ends in \r.
  const absl::string_view log = absl::StripSuffix(is_old ? line.message() : line.log(), "\r");
  const std::string text =
      line.has_rank_id() ? absl::StrCat("[rank=", line.rank_id(), "] ", log) : std::string(log);
  const bool alarm = line.level() >= api::v1::LOG_LEVEL_ERROR;
  const absl::string_view end = absl::EndsWith(text, "\n") ? "" : "\n";
  return absl::StrCat(ApplyPaint(time, Paint::kFaint, style),
                      ApplyPaint(text, alarm ? Paint::kFailed : Paint::kPlain, style), end);
}

template <class Line>
absl::Status PrintLine(const Line& line, LogFormat form, Screen* screen) {
  if (form == LogFormat::kJson) {
    DET_ASSIGN_OR_RETURN(const std::string text, proto::ToJson(line));
    screen->Print(text + "\n");
  } else if (form == LogFormat::kText) {
    screen->Print(FormatLine(line, screen->out()));
  } else {
    screen->PrintNotice(absl::StripSuffix(FormatLine(line, Style()), "\n"));
  }
  return absl::OkStatus();
}

// Reads a log and resumes after the last line if the connection is lost.
template <class Request, class Line>
class LogReader {
 public:
  LogReader(const ApiClient& api, const char* method, Request request, RetryPolicy retry)
      : api_(api), method_(method), request_(std::move(request)), retry_(std::move(retry)) {}

  // Calls `take` for each line until it returns false or the log ends.
  absl::Status ReadForward(absl::FunctionRef<bool(const Line&)> take) {
    Line line;
    int64_t last_id = request_.after_id();
    while (true) {
      const absl::Status streamed = api_.Stream(method_, request_, &line, [&] {
        // A master of the previous version starts again with the first line.
        if (line.id() <= last_id) return true;
        last_id = line.id();
        retry_.OnResponse();
        return take(line);
      });
      if (streamed.ok()) return absl::OkStatus();
      DET_RETURN_IF_ERROR(retry_.WaitBeforeRetry(streamed));
      request_.set_after_id(last_id);
    }
  }

  // Returns the newest lines, oldest first. Later calls of ReadForward() return the lines after
  // them.
  absl::StatusOr<std::vector<Line>> ReadNewest() {
    Request newest = request_;
    newest.set_follow(false);
    std::vector<Line> lines;
    while (true) {
      lines.clear();
      Line line;
      const absl::Status streamed = api_.Stream(method_, newest, &line, [&] {
        retry_.OnResponse();
        lines.push_back(line);
        return true;
      });
      if (streamed.ok()) break;
      DET_RETURN_IF_ERROR(retry_.WaitBeforeRetry(streamed));
    }
    std::reverse(lines.begin(), lines.end());
    if (!lines.empty()) request_.set_after_id(lines.back().id());
    request_.clear_order_by();
    request_.clear_limit();
    return lines;
  }

  const Request& request() const { return request_; }

 private:
  const ApiClient& api_;
  const char* const method_;
  Request request_;
  RetryPolicy retry_;
};

template <class Line, class Request>
absl::Status Print(const ApiClient& api, const char* method, const Request& request, LogFormat form,
                   Screen* screen, RetryPolicy retry) {
  LogReader<Request, Line> reader(api, method, request, std::move(retry));
  int left = request.limit() > 0 ? request.limit() : -1;
  absl::Status printed;
  const auto print = [&](const Line& line) {
    printed = PrintLine(line, form, screen);
    return printed.ok() && screen->output_error() == 0;
  };
  if (request.order_by() == api::v1::ORDER_BY_DESC) {
    left = -1;
    DET_ASSIGN_OR_RETURN(const std::vector<Line> newest, reader.ReadNewest());
    for (const Line& line : newest) {
      if (!print(line)) return printed;
    }
    if (!request.follow()) return absl::OkStatus();
  }
  DET_RETURN_IF_ERROR(
      reader.ReadForward([&](const Line& line) { return print(line) && --left != 0; }));
  return printed;
}

}  // namespace

std::string FormatLogLine(const api::v1::TrialLogsResponse& line, const Style& style) {
  return FormatLine(line, style);
}

absl::Status PrintLogs(const ApiClient& api, api::v1::TrialLogsRequest request, LogFormat form,
                       Screen* screen, RetryPolicy retry) {
  return Print<api::v1::TrialLogsResponse>(api, "TrialService.TrialLogs", request, form, screen,
                                           std::move(retry));
}

absl::Status PrintLogs(const ApiClient& api, api::v1::TaskLogsRequest request, LogFormat form,
                       Screen* screen, RetryPolicy retry) {
  return Print<api::v1::TaskLogsResponse>(api, "TaskService.TaskLogs", request, form, screen,
                                          std::move(retry));
}

}  // namespace det::cli
