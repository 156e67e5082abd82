#include "cli/commands/log_options.h"

#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "cli/commands/time_text.h"
#include "det/api/v1/common.pb.h"

namespace det::cli {
namespace {

constexpr int kMaxLines = 10'000'000;

// Adds the given level and those above it.
template <class Request>
absl::Status ReadLevel(const Invocation& run, Request* request) {
  const std::optional<std::string> word = run.args.Get("level");
  if (!word) return absl::OkStatus();
  api::v1::LogLevel least = api::v1::LOG_LEVEL_UNSPECIFIED;
  const bool known =
      api::v1::LogLevel_Parse(absl::StrCat("LOG_LEVEL_", absl::AsciiStrToUpper(*word)), &least);
  if (!known || least == api::v1::LOG_LEVEL_UNSPECIFIED) {
    return UsageError(absl::StrCat("--level: expected trace, debug, info, warning, error or ",
                                   "critical, found \"", *word, "\""));
  }
  for (int level = least; level <= api::v1::LOG_LEVEL_CRITICAL; ++level) {
    request->add_levels(static_cast<api::v1::LogLevel>(level));
  }
  return absl::OkStatus();
}

template <class Request>
absl::Status ReadRanks(const Invocation& run, Request* request) {
  for (const std::string& word : run.args.GetAll("rank-id")) {
    int rank = 0;
    if (!absl::SimpleAtoi(word, &rank) || rank < 0) {
      return UsageError(
          absl::StrCat("--rank-id: expected a number of at least 0, found \"", word, "\""));
    }
    request->add_rank_ids(rank);
  }
  return absl::OkStatus();
}

template <class Request>
absl::Status ReadTimes(const Invocation& run, Request* request) {
  if (const auto text = run.args.Get("timestamp-after")) {
    DET_ASSIGN_OR_RETURN(const absl::Time time, ParseTime("--timestamp-after", *text, absl::Now()));
    *request->mutable_timestamp_after() = ToTimestamp(time);
  }
  if (const auto text = run.args.Get("timestamp-before")) {
    DET_ASSIGN_OR_RETURN(const absl::Time time,
                         ParseTime("--timestamp-before", *text, absl::Now()));
    *request->mutable_timestamp_before() = ToTimestamp(time);
  }
  return absl::OkStatus();
}

template <class Request>
absl::Status Read(const Invocation& run, Request* request) {
  const Arguments& args = run.args;
  request->set_follow(args.Has("follow"));
  if (args.Has("head") && (args.Has("tail") || args.Has("follow"))) {
    return UsageError("--head cannot be used with --tail or --follow");
  }
  DET_ASSIGN_OR_RETURN(const int head, args.GetInt("head", 0, 1, kMaxLines));
  DET_ASSIGN_OR_RETURN(const int tail, args.GetInt("tail", 0, 1, kMaxLines));
  request->set_limit(head + tail);
  if (tail > 0) request->set_order_by(api::v1::ORDER_BY_DESC);
  for (const std::string& id : args.GetAll("allocation-id")) request->add_allocation_ids(id);
  // In this cluster a container belongs to one allocation.
  for (const std::string& id : args.GetAll("container-id")) request->add_allocation_ids(id);
  for (const std::string& id : args.GetAll("agent-id")) request->add_agent_ids(id);
  for (const std::string& each : args.GetAll("source")) request->add_sources(each);
  for (const std::string& each : args.GetAll("stdtype")) request->add_stdtypes(each);
  request->set_search_text(args.Get("search").value_or(""));
  if (args.Has("regex")) {
    if (args.Has("search")) return UsageError("--search and --regex cannot be used together");
    request->set_search_text(*args.Get("regex"));
    request->set_enable_regex(true);
  }
  DET_RETURN_IF_ERROR(ReadLevel(run, request));
  DET_RETURN_IF_ERROR(ReadRanks(run, request));
  return ReadTimes(run, request);
}

}  // namespace

std::vector<Option> LogOptions() {
  return {{"follow", 'f', "", "Follow the logs until the task has ended"},
          {"head", 0, "N", "Show the first N lines"},
          {"tail", 0, "N", "Show the last N lines; with -f also all later lines"},
          {"level", 0, "LEVEL", "Minimum level: trace, debug, info, warning, error, critical"},
          {"rank-id", 0, "RANK", "Only lines of this rank; repeatable"},
          {"agent-id", 0, "ID", "Only lines from this agent; repeatable"},
          {"allocation-id", 0, "ID", "Only lines of this allocation; repeatable"},
          {"container-id", 0, "ID", "Same as --allocation-id; repeatable"},
          {"source", 0, "NAME", "Only lines from task, agent or master; repeatable"},
          {"stdtype", 0, "NAME", "Only lines from stdout or stderr; repeatable"},
          {"timestamp-after", 0, "TIME", "Only lines after this time: 2026-12-01T04:00, -2h"},
          {"timestamp-before", 0, "TIME", "Only lines before this time"},
          {"search", 0, "TEXT", "Only lines that contain TEXT"},
          {"regex", 0, "PATTERN", "Only lines that match the regular expression (RE2)"}};
}

absl::Status ReadLogOptions(const Invocation& run, api::v1::TrialLogsRequest* request) {
  return Read(run, request);
}

absl::Status ReadLogOptions(const Invocation& run, api::v1::TaskLogsRequest* request) {
  return Read(run, request);
}

}  // namespace det::cli
