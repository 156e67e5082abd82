// det resources allocations|raw|aggregated
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/format.h"
#include "cli/table.h"
#include "det/api/v1/usage.pb.h"

namespace det::cli {
namespace {

std::string FormatExact(double number) { return absl::StrFormat("%.15g", number); }

std::string TimeText(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ", ToTime(time), absl::UTCTimeZone());
}

// Always prints CSV, because existing programs expect it.
absl::StatusOr<int> Print(Invocation& run, const google::protobuf::Message& response,
                          const Table& table) {
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
  } else {
    run.screen->Print(table.RenderCsv());
  }
  return kExitOk;
}

// With --monthly, existing clients name months: 2026-11. Returns the first or the last day of it.
std::string ReadDay(const Invocation& run, const char* word, bool last) {
  const std::string text = run.args.Word(word);
  absl::Time month;
  if (!run.args.Has("monthly") ||
      !absl::ParseTime("%Y-%m", text, absl::UTCTimeZone(), &month, nullptr)) {
    return text;
  }
  const absl::CivilMonth civil(absl::ToCivilDay(month, absl::UTCTimeZone()));
  return absl::FormatCivilTime(last ? absl::CivilDay(civil + 1) - 1 : absl::CivilDay(civil));
}

// Parses the formats that the master accepts.
absl::StatusOr<absl::Time> ParseTimeArgument(const Invocation& run, const char* word) {
  absl::Time time;
  for (const char* format : {"%Y-%m-%d", "%Y-%m-%dT%H:%M:%E*S", "%Y-%m-%dT%H:%M:%E*S%Ez"}) {
    if (absl::ParseTime(format, ReadDay(run, word, false), absl::UTCTimeZone(), &time, nullptr)) {
      return time;
    }
  }
  return UsageError(absl::StrCat(word, ": expected a time such as 2026-11-21 or ",
                                 "2026-11-21T09:00:00, or with --monthly 2026-11, found \"",
                                 run.args.Word(word), "\""));
}

absl::Status CheckSpan(const Invocation& run, bool with_last) {
  DET_ASSIGN_OR_RETURN(const absl::Time start, ParseTimeArgument(run, "START"));
  DET_ASSIGN_OR_RETURN(const absl::Time end, ParseTimeArgument(run, "END"));
  if (start < end || (with_last && start == end)) return absl::OkStatus();
  return UsageError(absl::StrCat("END: expected a time after ", run.args.Word("START"), ", found ",
                                 run.args.Word("END")));
}

absl::StatusOr<api::v1::ResourceAllocationRawResponse> ReadUsage(Invocation& run) {
  DET_RETURN_IF_ERROR(CheckSpan(run, /*with_last=*/false));
  api::v1::ResourceAllocationRawRequest request;
  request.set_timestamp_after(run.args.Word("START"));
  request.set_timestamp_before(run.args.Word("END"));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::ResourceAllocationRawResponse response;
  DET_RETURN_IF_ERROR(api->Call("UsageService.ResourceAllocationRaw", request, &response));
  return response;
}

std::string FormatEndTime(const api::v1::ResourceAllocationRawEntry& entry) {
  return entry.has_end_time() ? TimeText(entry.end_time()) : "";
}

// Same columns as UsageService.ExportAllocations, which has no JSON response.
absl::StatusOr<int> RunAllocations(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const auto response, ReadUsage(run));
  Table table({{"allocation_id"},
               {"task_type"},
               {"username"},
               {"workspace_name"},
               {"experiment_id"},
               {"slots"},
               {"start_time"},
               {"end_time"},
               {"imagepulling_time"},
               {"slot_hours"},
               {"resource_pool"}});
  for (const auto& entry : response.resource_entries()) {
    table.AddRow({entry.allocation_id(), "TRIAL", entry.username(), entry.workspace_name(),
                  absl::StrCat(entry.experiment_id()), FormatExact(entry.slots()),
                  TimeText(entry.start_time()), FormatEndTime(entry), "",
                  FormatExact(entry.seconds() * entry.slots() / 3600), entry.resource_pool()});
  }
  return Print(run, response, table);
}

absl::StatusOr<int> RunRaw(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const auto response, ReadUsage(run));
  Table table({{"experiment_id"},
               {"kind"},
               {"username"},
               {"labels"},
               {"slots"},
               {"start_time"},
               {"end_time"},
               {"seconds"}});
  for (const auto& entry : response.resource_entries()) {
    table.AddRow({absl::StrCat(entry.experiment_id()), entry.kind(), entry.username(),
                  absl::StrJoin(entry.labels(), ","), FormatExact(entry.slots()),
                  TimeText(entry.start_time()), FormatEndTime(entry),
                  FormatExact(entry.seconds())});
  }
  return Print(run, response, table);
}

absl::StatusOr<int> RunAggregated(Invocation& run) {
  DET_RETURN_IF_ERROR(CheckSpan(run, /*with_last=*/true));
  api::v1::ResourceAllocationAggregatedRequest request;
  request.set_start_date(ReadDay(run, "START", false));
  request.set_end_date(ReadDay(run, "END", true));
  request.set_period(run.args.Has("monthly")
                         ? api::v1::RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY
                         : api::v1::RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY);
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::ResourceAllocationAggregatedResponse response;
  DET_RETURN_IF_ERROR(api->Call("UsageService.ResourceAllocationAggregated", request, &response));
  Table table({{"aggregation_type"}, {"aggregation_key"}, {"date"}, {"seconds"}});
  for (const auto& entry : response.resource_entries()) {
    const auto add = [&](const char* type, const auto& by) {
      const std::map<std::string, double> sorted(by.begin(), by.end());
      for (const auto& [key, seconds] : sorted) {
        table.AddRow({type, key, entry.period_start(), FormatExact(seconds)});
      }
    };
    table.AddRow({"total", "total", entry.period_start(), FormatExact(entry.seconds())});
    add("username", entry.by_username());
    add("experiment_label", entry.by_experiment_label());
    add("resource_pool", entry.by_resource_pool());
  }
  return Print(run, response, table);
}

}  // namespace

std::vector<Command> ResourcesCommands() {
  constexpr char kTimes[] =
      "Times are 2026-11-21 or 2026-11-21T09:00:00, in UTC unless they have a zone. Slots count "
      "while they are allocated, busy or idle.";
  const std::vector<Positional> span = {{"START", "Start time, inclusive"},
                                        {"END", "End time, exclusive"}};
  return {
      {{"resources", "allocations"},
       "Print allocations of trials with their slot hours as CSV",
       span,
       {kCsv},
       RunAllocations,
       kTimes},
      {{"resources", "raw"},
       "Print slot usage by experiment and time as CSV",
       span,
       {kCsv},
       RunRaw,
       kTimes},
      {{"resources", "aggregated"},
       "Print slot-seconds per day as CSV",
       {{"START", "First day"}, {"END", "Last day, inclusive"}},
       {{"monthly", 0, "", "Aggregate by month; days can be months: 2026-11"}, kCsv},
       RunAggregated,
       kTimes},
  };
}

}  // namespace det::cli
