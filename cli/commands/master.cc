// det master info|config|logs|audit|trust|cluster-message, det version
#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/installation.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/time_text.h"
#include "cli/format.h"
#include "cli/http_client.h"
#include "cli/json_text.h"
#include "cli/table.h"
#include "cli/trusted_certificates.h"
#include "det/api/v1/master.pb.h"
#include "proto/http_rule.h"

namespace det::cli {
namespace {

// Masters before 0.2 have no other version than `version`.
const std::string& GetVersion(const api::v1::GetInfoResponse& info) {
  return info.resolute_version().empty() ? info.version() : info.resolute_version();
}

absl::StatusOr<int> RunInfo(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetInfoResponse info;
  DET_RETURN_IF_ERROR(api->Call("MasterService.GetInfo", api::v1::GetInfoRequest(), &info));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(info));
    return kExitOk;
  }
  run.screen->Print(RenderFields(
      {{"address", api->addresses()},
       {"version", GetVersion(info)},
       {"cluster", absl::StrCat(info.cluster_name(), info.cluster_name().empty() ? "" : "  ",
                                info.cluster_id())},
       {"started", absl::StrCat(FormatAge(info.started_at(), absl::Now()), "  ",
                                FormatTimestamp(info.started_at()))},
       {"database", info.database()},
       {"agents", absl::StrCat(info.agents())},
       {"slots", absl::StrCat(info.slots_in_use(), " of ", info.slots(), " used")}},
      run.screen->out()));
  return kExitOk;
}

// ---- what it says of itself ----

absl::StatusOr<int> RunMasterConfig(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetMasterConfigResponse response;
  DET_RETURN_IF_ERROR(
      api->Call("MasterService.GetMasterConfig", api::v1::GetMasterConfigRequest(), &response));
  DET_ASSIGN_OR_RETURN(const std::string text, proto::ToJson(response.config()));
  return run.PrintResult(response, IndentJson(text) + "\n");
}

// Parses "warning" or "LOG_LEVEL_WARNING".
absl::StatusOr<api::v1::LogLevel> ReadLevel(const std::string& text) {
  const std::string name = absl::AsciiStrToUpper(text);
  api::v1::LogLevel level;
  for (const std::string& each : {name, absl::StrCat("LOG_LEVEL_", name)}) {
    if (api::v1::LogLevel_Parse(each, &level) && level != api::v1::LOG_LEVEL_UNSPECIFIED) {
      return level;
    }
  }
  return UsageError(
      absl::StrCat("--log.level: expected trace, debug, info, warning, error or critical, found \"",
                   text, "\""));
}

absl::StatusOr<int> RunMasterSetConfig(Invocation& run) {
  api::v1::PatchMasterConfigRequest request;
  std::vector<std::string> changes;
  if (const auto level = run.args.Get("log.level")) {
    DET_ASSIGN_OR_RETURN(const api::v1::LogLevel read, ReadLevel(*level));
    request.mutable_config()->mutable_log()->set_level(read);
    request.mutable_field_mask()->add_paths("log.level");
    changes.push_back(absl::StrCat("log.level ", absl::AsciiStrToLower(absl::StripPrefix(
                                                     api::v1::LogLevel_Name(read), "LOG_LEVEL_"))));
  }
  if (const auto color = run.args.Get("log.color")) {
    if (*color != "on" && *color != "off") {
      return UsageError(absl::StrCat("--log.color: expected on or off, found \"", *color, "\""));
    }
    request.mutable_config()->mutable_log()->set_color(*color == "on");
    request.mutable_field_mask()->add_paths("log.color");
    changes.push_back(absl::StrCat("log.color ", *color));
  }
  if (changes.empty())
    return UsageError("master config set needs --log.level LEVEL or --log.color on|off");
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::PatchMasterConfigResponse response;
  DET_RETURN_IF_ERROR(api->Call("MasterService.PatchMasterConfig", request, &response));
  return run.PrintResult(
      response, absl::StrCat("set ", absl::StrJoin(changes, ", "), " until the master restarts\n"));
}

std::string FormatLogEntry(const api::v1::LogEntry& line) {
  const std::string level = api::v1::LogLevel_Name(line.level());
  return absl::StrCat(FormatTimestamp(line.timestamp()), "  ",
                      absl::StripPrefix(level, "LOG_LEVEL_"), "  ", line.message(), "\n");
}

absl::StatusOr<int> RunMasterLogs(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int tail, run.args.GetInt("tail", 0, 1, 1'000'000));
  api::v1::MasterLogsRequest request;
  request.set_offset(-tail);
  request.set_follow(run.args.Has("follow"));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::MasterLogsResponse line;
  absl::Status shown;
  const auto show = [&] {
    if (run.json()) {
      const absl::StatusOr<std::string> text = proto::ToJson(line.log_entry());
      shown = text.status();
      if (text.ok()) run.screen->Print(*text + "\n");
    } else {
      run.screen->Print(FormatLogEntry(line.log_entry()));
    }
    return shown.ok();
  };
  DET_RETURN_IF_ERROR(api->Stream("MasterService.MasterLogs", request, &line, show));
  DET_RETURN_IF_ERROR(shown);
  return kExitOk;
}

// Also works without a master; then it shows only the version of det.
absl::StatusOr<int> RunVersion(Invocation& run) {
  api::v1::GetInfoResponse info;
  std::string master;
  std::string why;
  absl::StatusOr<ApiClient*> api = run.GetApi();
  if (api.ok()) {
    const absl::Status status =
        (*api)->Call("MasterService.GetInfo", api::v1::GetInfoRequest(), &info);
    if (absl::IsCancelled(status)) return status;
    if (status.ok()) master = GetVersion(info);
    why = absl::IsFailedPrecondition(status)
              ? absl::StrCat("not reachable: ", status.message())
              : absl::StrCat("not reachable at ", (*api)->addresses());
  } else {
    // An invalid address is an error; that no master is running is not.
    if (!absl::IsFailedPrecondition(api.status())) return api.status();
    why = "not running";
  }
  if (run.json()) {
    run.screen->Print(
        IndentJson(absl::StrCat("{\"client\":", QuoteJson(base::kVersion),
                                ",\"master\":", master.empty() ? "null" : QuoteJson(master), "}")) +
        "\n");
    return kExitOk;
  }
  run.screen->Print(RenderFields(
      {{"det", base::kVersion}, {"master", master.empty() ? why : master}}, run.screen->out()));
  if (!master.empty() && master != base::kVersion) {
    run.screen->PrintNotice("det and the master have different versions; some commands may fail");
  }
  return kExitOk;
}

// ---- audit ----

constexpr int kMaxAuditPage = 1'000;

// "2h" means two hours ago.
absl::StatusOr<absl::Time> ReadSince(const std::string& text, absl::Time now) {
  absl::Duration ago;
  if (absl::ParseDuration(text, &ago)) return now - ago;
  return ParseTime("--since", text, now);
}

absl::StatusOr<int> RunAudit(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int limit, run.args.GetInt("limit", 100, 1, 1'000'000));
  const absl::Time now = absl::Now();
  api::v1::GetAuditRequest request;
  request.set_username(run.args.Get("by").value_or(""));
  request.set_method(run.args.Get("method").value_or(""));
  if (const auto since = run.args.Get("since")) {
    DET_ASSIGN_OR_RETURN(const absl::Time time, ReadSince(*since, now));
    *request.mutable_since() = ToTimestamp(time);
  }
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetAuditResponse all;
  do {
    request.set_limit(std::min(kMaxAuditPage, limit - all.records_size()));
    request.set_before_id(all.next_before_id());
    api::v1::GetAuditResponse page;
    DET_RETURN_IF_ERROR(api->Call("MasterService.GetAudit", request, &page));
    all.MergeFrom(page);
    all.set_next_before_id(page.next_before_id());
  } while (all.next_before_id() != 0 && all.records_size() < limit);
  Table table({{"TIME"},
               {"USER", false, true},
               {"ADDRESS", false, true},
               {"METHOD", false, true},
               {"TARGET", false, true},
               {"CODE"},
               {"REQUEST ID", false, true}});
  for (const api::v1::AuditRecord& each : all.records()) {
    table.AddRow({MakeAgeCell(each.at(), now), each.caller(), each.peer(),
                  absl::StripPrefix(each.method(), "det.api.v1."), each.target(), each.code(),
                  each.request_id()});
  }
  return run.PrintList(all, table, "no audit records");
}

// ---- cluster-message ----

absl::StatusOr<int> RunSetMessage(Invocation& run) {
  api::v1::SetClusterMessageRequest request;
  request.set_message(run.args.Word("MESSAGE"));
  const absl::Time now = absl::Now();
  if (const auto start = run.args.Get("start")) {
    DET_ASSIGN_OR_RETURN(const absl::Time time, ParseTime("--start", *start, now));
    *request.mutable_start_time() = ToTimestamp(time);
  }
  if (const auto end = run.args.Get("end")) {
    DET_ASSIGN_OR_RETURN(const absl::Time time, ParseTime("--end", *end, now));
    *request.mutable_end_time() = ToTimestamp(time);
  }
  request.set_duration(run.args.Get("duration").value_or(""));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::SetClusterMessageResponse response;
  DET_RETURN_IF_ERROR(api->Call("MasterService.SetClusterMessage", request, &response));
  return run.PrintResult(response, "set the cluster message\n");
}

absl::StatusOr<int> RunGetMessage(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetClusterMessageResponse response;
  DET_RETURN_IF_ERROR(
      api->Call("MasterService.GetClusterMessage", api::v1::GetClusterMessageRequest(), &response));
  const api::v1::ClusterMessage& message = response.cluster_message();
  if (!response.has_cluster_message()) return run.PrintResult(response, "no cluster message\n");
  return run.PrintResult(
      response, RenderFields({{"message", message.message()},
                              {"from", FormatTimestamp(message.start_time())},
                              {"until", message.has_end_time() ? FormatTimestamp(message.end_time())
                                                               : "cleared"}},
                             run.screen->out()));
}

absl::StatusOr<int> RunClearMessage(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::DeleteClusterMessageResponse response;
  DET_RETURN_IF_ERROR(api->Call("MasterService.DeleteClusterMessage",
                                api::v1::DeleteClusterMessageRequest(), &response));
  return run.PrintResult(response, "cleared the cluster message\n");
}

// "ab:CD" -> "ABCD"
std::string NormalizeFingerprint(const std::string& fingerprint) {
  return absl::AsciiStrToUpper(absl::StrReplaceAll(fingerprint, {{":", ""}, {" ", ""}}));
}

absl::StatusOr<int> RunTrust(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const Connection where, run.FindConnection());
  if (run.json()) return UsageError("master trust: --json is not supported");
  for (const std::string& url : where.urls) {
    if (!absl::StartsWith(url, "https://")) {
      return absl::FailedPreconditionError(
          absl::StrCat(url, " does not use TLS and has no certificate"));
    }
    DET_ASSIGN_OR_RETURN(const ServerCertificate found, FetchCertificate(url));
    const std::string given = run.args.Word("FINGERPRINT");
    if (given.empty()) {
      run.screen->Print(absl::StrCat(url, "  SHA-256 ", found.fingerprint, "\n"));
      continue;
    }
    if (NormalizeFingerprint(given) != NormalizeFingerprint(found.fingerprint)) {
      return absl::FailedPreconditionError(
          absl::StrCat("the certificate of ", url, " has SHA-256 fingerprint ", found.fingerprint,
                       ", which does not match; the certificate was not trusted"));
    }
    DET_RETURN_IF_ERROR(SaveCertificates(url, found.pem));
    run.screen->Print(absl::StrCat("trusted ", url, "\n"));
  }
  return kExitOk;
}

}  // namespace

std::vector<Command> MasterCommands() {
  return {
      {{"master", "info"}, "Show the master and its cluster", {}, {}, RunInfo, ""},
      {{"master", "config", "show"},
       "Show the configuration that the master was started with",
       {},
       {},
       RunMasterConfig,
       "For cluster administrators. Secrets are not shown. Same as `det master config`."},
      {{"master", "config", "set"},
       "Change the log level of the master until it restarts",
       {},
       {{"log.level", 0, "LEVEL", "Log level: trace, debug, info, warning, error or critical"},
        {"log.color", 0, "on|off", "Colors in the log; only off is supported"}},
       RunMasterSetConfig,
       "For cluster administrators. For permanent and other changes, edit the master's config file "
       "and restart the master."},
      {{"master", "logs"},
       "Print recent lines of the master's log",
       {},
       {{"follow", 'f', "", "Follow the log until Ctrl-C"},
        {"tail", 0, "N", "Start with the last N lines (default: all in memory)"}},
       RunMasterLogs,
       "For cluster administrators. Earlier lines are in the log on the master's machine."},
      {{"master", "audit"},
       "List audit records, newest first",
       {},
       {{"by", 0, "USER", "Only changes by this user"},
        {"method", 0, "BEGINNING", "Only methods with this prefix, such as UserService"},
        {"since", 0, "TIME", "Only changes after this time: 2026-12-01T04:00, or 2h ago as 2h"},
        {"limit", 'n', "N", "Maximum number of records (default: 100)"},
        kCsv},
       RunAudit,
       "For cluster administrators. Rejected calls are listed with their error code."},
      {{"master", "trust"},
       "Trust the certificate of a master at https://",
       {{"FINGERPRINT", "Expected SHA-256 fingerprint; if omitted, it is shown only", true}},
       {},
       RunTrust,
       "Use this for a master whose certificate authority is not known on this machine. Trusted "
       "certificates are stored in certs.json next to auth.json.\nA certificate authority file in "
       "DET_MASTER_CERT_FILE remains valid when the certificate is renewed."},
      {{"master", "cluster-message", "set"},
       "Set a message for all users of the cluster",
       {{"MESSAGE", "Message text"}},
       {{"start", 's', "TIME", "Start of the message (default: now)"},
        {"end", 'e', "TIME", "End of the message (default: until it is cleared)"},
        {"duration", 'd', "DURATION", "Duration of the message, such as 2h30m"}},
       RunSetMessage,
       ""},
      {{"master", "cluster-message", "get"}, "Show the cluster message", {}, {}, RunGetMessage, ""},
      {{"master", "cluster-message", "clear"},
       "Clear the cluster message",
       {},
       {},
       RunClearMessage,
       ""},
      {{"version"}, "Show the versions of det and the master", {}, {}, RunVersion, ""},
  };
}

}  // namespace det::cli
