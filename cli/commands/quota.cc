// det quota list|set|remove
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/user.h"
#include "cli/commands/workspace.h"
#include "cli/format.h"
#include "cli/table.h"
#include "det/api/v1/resource_pool.pb.h"

namespace det::cli {
namespace {

using api::v1::Quota;

const std::vector<Positional>& GetQuotaPositionals() {
  static const auto& whose = *new std::vector<Positional>{{"SCOPE", "Scope: user or workspace"},
                                                          {"NAME", "User name or workspace name"}};
  return whose;
}

absl::Status CheckScope(const std::string& scope) {
  if (scope == "user" || scope == "workspace") return absl::OkStatus();
  return UsageError(absl::StrCat("SCOPE: expected user or workspace, found \"", scope, "\""));
}

// "3 of 8"; red if nothing is left.
Cell FormatUsage(double used, std::optional<double> limit) {
  if (!limit) return Cell("-");
  return Cell(absl::StrCat(FormatPlainNumber(used), " of ", FormatPlainNumber(*limit)),
              used >= *limit ? Paint::kFailed : Paint::kPlain);
}

absl::StatusOr<int> RunQuotaList(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetQuotasResponse response;
  DET_RETURN_IF_ERROR(
      api->Call("ResourcePoolService.GetQuotas", api::v1::GetQuotasRequest(), &response));
  Table table({{"SCOPE"}, {"NAME", false, true}, {"SLOTS", true}, {"SLOT HOURS (MONTH)", true}});
  for (const Quota& quota : response.quotas()) {
    table.AddRow(
        {quota.scope(), quota.name(),
         FormatUsage(quota.slots_used(),
                     quota.has_max_slots() ? std::optional(quota.max_slots()) : std::nullopt),
         FormatUsage(quota.slot_hours_used(),
                     quota.has_slot_hours() ? std::optional(quota.slot_hours()) : std::nullopt)});
  }
  return run.PrintList(response, table,
                       "no quotas; set one: det quota set workspace NAME --max-slots N");
}

// Returns the limit of an option: `before` if it is not given, absent for "none".
absl::StatusOr<std::optional<double>> ReadLimit(const Invocation& run, const char* option,
                                                std::optional<double> before) {
  const std::optional<std::string> text = run.args.Get(option);
  if (!text) return before;
  if (*text == "none") return std::optional<double>();
  double value = 0;
  if (!absl::SimpleAtod(*text, &value) || !(value >= 0)) {
    return UsageError(
        absl::StrCat("--", option, ": expected a number or none, found \"", *text, "\""));
  }
  return std::optional<double>(value);
}

absl::StatusOr<int> RunQuotaSet(Invocation& run) {
  const std::string scope = run.args.Word("SCOPE");
  const std::string name = run.args.Word("NAME");
  DET_RETURN_IF_ERROR(CheckScope(scope));
  if (!run.args.Has("max-slots") && !run.args.Has("slot-hours")) {
    return UsageError("quota set needs --max-slots, --slot-hours, or both");
  }
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  // A quota for an unknown name would silently have no effect.
  DET_RETURN_IF_ERROR(scope == "user" ? FindUser(*api, name).status()
                                      : FindWorkspace(*api, name).status());
  api::v1::GetQuotasResponse all;
  DET_RETURN_IF_ERROR(
      api->Call("ResourcePoolService.GetQuotas", api::v1::GetQuotasRequest(), &all));
  std::optional<double> slots, hours;
  for (const Quota& quota : all.quotas()) {
    if (quota.scope() != scope || quota.name() != name) continue;
    if (quota.has_max_slots()) slots = quota.max_slots();
    if (quota.has_slot_hours()) hours = quota.slot_hours();
  }
  DET_ASSIGN_OR_RETURN(slots, ReadLimit(run, "max-slots", slots));
  DET_ASSIGN_OR_RETURN(hours, ReadLimit(run, "slot-hours", hours));
  if (!slots && !hours) {
    return UsageError(absl::StrCat("quota set: no limit would remain; use `det quota remove ",
                                   scope, " ", name, "`"));
  }
  api::v1::PutQuotaRequest request;
  request.mutable_quota()->set_scope(scope);
  request.mutable_quota()->set_name(name);
  if (slots) request.mutable_quota()->set_max_slots(*slots);
  if (hours) request.mutable_quota()->set_slot_hours(*hours);
  api::v1::PutQuotaResponse response;
  DET_RETURN_IF_ERROR(api->Call("ResourcePoolService.PutQuota", request, &response));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
    return kExitOk;
  }
  run.screen->Print(absl::StrCat(
      "set quota of ", scope, " ", name, ": ", slots ? FormatPlainNumber(*slots) : "unlimited",
      " slots, ", hours ? FormatPlainNumber(*hours) : "unlimited", " slot hours per month\n"));
  return kExitOk;
}

absl::StatusOr<int> RunQuotaRemove(Invocation& run) {
  api::v1::DeleteQuotaRequest request;
  request.set_scope(run.args.Word("SCOPE"));
  request.set_name(run.args.Word("NAME"));
  DET_RETURN_IF_ERROR(CheckScope(request.scope()));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::DeleteQuotaResponse response;
  DET_RETURN_IF_ERROR(api->Call("ResourcePoolService.DeleteQuota", request, &response));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
  } else {
    run.screen->Print(
        absl::StrCat("removed quota of ", request.scope(), " ", request.name(), "\n"));
  }
  return kExitOk;
}

}  // namespace

std::vector<Command> QuotaCommands() {
  return {
      {{"quota", "list"}, "List quotas and their usage", {}, {kCsv}, RunQuotaList, ""},
      {{"quota", "set"},
       "Set a quota of slots or slot hours for a user or workspace",
       GetQuotaPositionals(),
       {{"max-slots", 0, "N", "Maximum number of slots at the same time; none for no limit"},
        {"slot-hours", 0, "H", "Slot hours per calendar month (UTC); none for no limit"}},
       RunQuotaSet,
       "Omitted limits keep their values. Jobs over a limit wait; `det job list` shows the "
       "reason."},
      {{"quota", "remove"}, "Remove a quota", GetQuotaPositionals(), {}, RunQuotaRemove, ""},
  };
}

}  // namespace det::cli
