#include "master/api/resources/usage_report.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/civil_time.h"
#include "base/status_macros.h"
#include "master/api/common/convert.h"

namespace det::api {
namespace {

constexpr char kTraining[] = "training";

// "training" for trials; "notebook".
std::string ToText(model::TaskKind kind) {
  if (kind == model::TaskKind::kTrial) return kTraining;
  return absl::AsciiStrToLower(std::string(model::ToString(kind)));
}

// Empty if the entry belongs to no experiment.
std::string FormatExperiment(const v1::ResourceAllocationRawEntry& entry) {
  return entry.experiment_id() == 0 ? "" : absl::StrCat(entry.experiment_id());
}

const absl::TimeZone& Utc() {
  static const absl::TimeZone& utc = *new absl::TimeZone(absl::UTCTimeZone());
  return utc;
}

absl::StatusOr<absl::Time> ReadTime(const char* field, const std::string& text) {
  absl::Time time;
  for (const char* format : {"%Y-%m-%d", "%Y-%m-%dT%H:%M:%E*S", "%Y-%m-%dT%H:%M:%E*S%Ez"}) {
    if (absl::ParseTime(format, text, Utc(), &time, nullptr)) return time;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      field, ": expected a time such as 2026-11-21 or 2026-11-21T09:00:00Z, found \"", text, "\""));
}

absl::StatusOr<UsageSpan> CheckNotEmpty(UsageSpan span) {
  if (span.from < span.until) return span;
  return absl::InvalidArgumentError("the end of the report must be after its start");
}

absl::StatusOr<UsageSpan> ParseInterval(const std::string& after, const std::string& before) {
  UsageSpan span;
  DET_ASSIGN_OR_RETURN(span.from, ReadTime("timestamp_after", after));
  DET_ASSIGN_OR_RETURN(span.until, ReadTime("timestamp_before", before));
  return CheckNotEmpty(span);
}

// The part of the span in which the allocation held its slots.
UsageSpan Clip(const store::UsageRecord& record, const UsageSpan& span, absl::Time now) {
  return {std::max(record.started_at, span.from),
          std::min(record.ended_at.value_or(now), span.until)};
}

double GetSeconds(const UsageSpan& span) {
  return std::max(0.0, absl::ToDoubleSeconds(span.until - span.from));
}

// The day or month that contains a time.
absl::CivilDay GetPeriod(absl::Time time, bool monthly) {
  const absl::CivilDay day = absl::ToCivilDay(time, Utc());
  return monthly ? absl::CivilDay(absl::CivilMonth(day)) : day;
}

absl::CivilDay NextPeriod(absl::CivilDay period, bool monthly) {
  return monthly ? absl::CivilDay(absl::CivilMonth(period) + 1) : period + 1;
}

std::string FormatPeriod(absl::CivilDay period, bool monthly) {
  return monthly ? absl::FormatCivilTime(absl::CivilMonth(period)) : absl::FormatCivilTime(period);
}

void Add(const store::UsageRecord& record, double seconds,
         v1::ResourceAllocationAggregatedEntry* entry) {
  entry->set_seconds(entry->seconds() + seconds);
  (*entry->mutable_by_username())[record.username] += seconds;
  (*entry->mutable_by_resource_pool())[record.resource_pool] += seconds;
  for (const std::string& label : record.labels) {
    (*entry->mutable_by_experiment_label())[label] += seconds;
  }
}

// Quotes a field as RFC 4180 requires. Text that a spreadsheet would treat as a formula gets a
// leading apostrophe.
std::string QuoteCsv(std::string text) {
  if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos) {
    text.insert(text.begin(), '\'');
  }
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

// StrCat prints six digits, which is too few for the seconds of a year.
std::string FormatNumber(double number) { return absl::StrFormat("%.15g", number); }

std::string FormatTimestamp(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ", FromProto(time), Utc());
}

void Append(const v1::ResourceAllocationAggregatedEntry& entry, const char* type,
            const google::protobuf::Map<std::string, double>& by, std::string* csv) {
  const std::map<std::string, double> sorted(by.begin(), by.end());
  for (const auto& [key, seconds] : sorted) {
    absl::StrAppend(csv, type, ",", QuoteCsv(key), ",", entry.period_start(), ",",
                    FormatNumber(seconds), "\n");
  }
}

}  // namespace

absl::StatusOr<UsageSpan> ParseSpan(const v1::ResourceAllocationRawRequest& request) {
  return ParseInterval(request.timestamp_after(), request.timestamp_before());
}

absl::StatusOr<UsageSpan> ParseSpan(const v1::GetCapacityRequest& request) {
  return ParseInterval(request.timestamp_after(), request.timestamp_before());
}

absl::StatusOr<UsageSpan> ParseSpan(const v1::ResourceAllocationAggregatedRequest& request) {
  const bool monthly = request.period() == v1::RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY;
  const auto read = [monthly](const char* field,
                              const std::string& text) -> absl::StatusOr<absl::Time> {
    absl::Time month;
    if (monthly && absl::ParseTime("%Y-%m", text, Utc(), &month, nullptr)) return month;
    return ReadTime(field, text);
  };
  DET_ASSIGN_OR_RETURN(const absl::Time first, read("start_date", request.start_date()));
  DET_ASSIGN_OR_RETURN(const absl::Time last, read("end_date", request.end_date()));
  return CheckNotEmpty({absl::FromCivil(GetPeriod(first, monthly), Utc()),
                        absl::FromCivil(NextPeriod(GetPeriod(last, monthly), monthly), Utc())});
}

v1::ResourceAllocationRawResponse MakeRawReport(const std::vector<store::UsageRecord>& usage,
                                                const UsageSpan& span, absl::Time now) {
  v1::ResourceAllocationRawResponse report;
  for (const store::UsageRecord& record : usage) {
    v1::ResourceAllocationRawEntry* entry = report.add_resource_entries();
    entry->set_kind(ToText(record.kind));
    *entry->mutable_start_time() = ToProto(record.started_at);
    if (record.ended_at) *entry->mutable_end_time() = ToProto(*record.ended_at);
    entry->set_experiment_id(record.experiment.value());
    entry->set_username(record.username);
    entry->set_user_id(record.user.value());
    entry->mutable_labels()->Assign(record.labels.begin(), record.labels.end());
    entry->set_seconds(GetSeconds(Clip(record, span, now)));
    entry->set_slots(record.slots);
    entry->set_allocation_id(record.allocation.value());
    entry->set_workspace_name(record.workspace);
    entry->set_resource_pool(record.resource_pool);
  }
  return report;
}

v1::GetCapacityResponse MakeCapacityReport(const std::vector<store::CapacityRecord>& capacity) {
  v1::GetCapacityResponse report;
  for (const store::CapacityRecord& record : capacity) {
    v1::CapacityEntry* entry = report.add_entries();
    entry->set_agent_id(record.agent.value());
    entry->set_resource_pool(record.resource_pool);
    entry->set_slots(record.slots);
    *entry->mutable_start_time() = ToProto(record.began_at);
    if (record.ended_at) *entry->mutable_end_time() = ToProto(*record.ended_at);
  }
  return report;
}

v1::ResourceAllocationAggregatedResponse MakeAggregatedReport(
    const std::vector<store::UsageRecord>& usage, const UsageSpan& span, bool monthly,
    absl::Time now) {
  std::map<absl::CivilDay, v1::ResourceAllocationAggregatedEntry> entries;
  for (const store::UsageRecord& record : usage) {
    if (record.slots == 0) continue;
    const UsageSpan held = Clip(record, span, now);
    absl::Time at = held.from;
    while (at < held.until) {
      const absl::CivilDay period = GetPeriod(at, monthly);
      const absl::Time end =
          std::min(held.until, absl::FromCivil(NextPeriod(period, monthly), Utc()));
      Add(record, record.slots * GetSeconds({at, end}), &entries[period]);
      at = end;
    }
  }
  v1::ResourceAllocationAggregatedResponse report;
  for (auto& [period, entry] : entries) {
    entry.set_period_start(FormatPeriod(period, monthly));
    entry.set_period(monthly ? v1::RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY
                             : v1::RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY);
    *report.add_resource_entries() = std::move(entry);
  }
  return report;
}

std::string ToCsv(const v1::ResourceAllocationRawResponse& report) {
  std::string csv = "experiment_id,kind,username,labels,slots,start_time,end_time,seconds\n";
  for (const auto& entry : report.resource_entries()) {
    absl::StrAppend(&csv, FormatExperiment(entry), ",", entry.kind(), ",",
                    QuoteCsv(entry.username()), ",", QuoteCsv(absl::StrJoin(entry.labels(), ",")),
                    ",", FormatNumber(entry.slots()), ",", FormatTimestamp(entry.start_time()), ",",
                    entry.has_end_time() ? FormatTimestamp(entry.end_time()) : "", ",");
    absl::StrAppend(&csv, FormatNumber(entry.seconds()), "\n");
  }
  return csv;
}

std::string ToAllocationsCsv(const v1::ResourceAllocationRawResponse& report) {
  std::string csv =
      "allocation_id,task_type,username,workspace_name,experiment_id,slots,start_time,end_time,"
      "imagepulling_time,slot_hours,resource_pool\n";
  for (const auto& entry : report.resource_entries()) {
    const std::string type =
        entry.kind() == kTraining ? "TRIAL" : absl::AsciiStrToUpper(entry.kind());
    absl::StrAppend(&csv, QuoteCsv(entry.allocation_id()), ",", type, ",",
                    QuoteCsv(entry.username()), ",", QuoteCsv(entry.workspace_name()), ",",
                    FormatExperiment(entry), ",", FormatNumber(entry.slots()), ",",
                    FormatTimestamp(entry.start_time()), ",");
    absl::StrAppend(&csv, entry.has_end_time() ? FormatTimestamp(entry.end_time()) : "", ",,",
                    FormatNumber(entry.seconds() * entry.slots() / 3600), ",",
                    QuoteCsv(entry.resource_pool()), "\n");
  }
  return csv;
}

std::string ToCsv(const v1::ResourceAllocationAggregatedResponse& report) {
  std::string csv = "aggregation_type,aggregation_key,date,seconds\n";
  for (const auto& entry : report.resource_entries()) {
    absl::StrAppend(&csv, "total,total,", entry.period_start(), ",", FormatNumber(entry.seconds()),
                    "\n");
    Append(entry, "username", entry.by_username(), &csv);
    Append(entry, "experiment_label", entry.by_experiment_label(), &csv);
    Append(entry, "resource_pool", entry.by_resource_pool(), &csv);
  }
  return csv;
}

}  // namespace det::api
