#include "cli/commands/time_text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/civil_time.h"
#include "cli/arguments.h"

namespace det::cli {
namespace {

// Parses "+90m" and "+1d12h": the format of absl, and days.
bool ParseSpan(absl::string_view text, absl::Duration* span) {
  const size_t day = text.find('d');
  *span = absl::ZeroDuration();
  if (day != text.npos) {
    if (!absl::ParseDuration(absl::StrCat(text.substr(0, day), "h"), span)) return false;
    *span *= 24;
    text.remove_prefix(day + 1);
    if (text.empty()) return true;
  }
  absl::Duration rest;
  if (!absl::ParseDuration(std::string(text), &rest)) return false;
  *span += rest;
  return true;
}

}  // namespace

absl::StatusOr<absl::Time> ParseTime(absl::string_view what, const std::string& text,
                                     absl::Time base) {
  const absl::TimeZone zone = absl::LocalTimeZone();
  if (text == "now") return base;
  absl::Duration span;
  if (absl::StartsWith(text, "+") && ParseSpan(absl::string_view(text).substr(1), &span)) {
    return base + span;
  }
  if (absl::StartsWith(text, "-") && ParseSpan(absl::string_view(text).substr(1), &span)) {
    return base - span;
  }
  absl::Time time;
  for (const char* format : {"%Y-%m-%dT%H:%M:%E*S%Ez", "%Y-%m-%dT%H:%M%Ez"}) {
    if (absl::ParseTime(format, absl::StrReplaceAll(text, {{" ", "T"}}), &time, nullptr)) {
      return time;
    }
  }
  for (const char* format : {"%Y-%m-%dT%H:%M:%E*S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"}) {
    if (absl::ParseTime(format, absl::StrReplaceAll(text, {{" ", "T"}}), zone, &time, nullptr)) {
      return time;
    }
  }
  const absl::CivilDay today(absl::ToCivilSecond(base, zone));
  for (const absl::CivilDay day : {today, today + 1}) {
    const std::string whole = absl::StrCat(absl::FormatCivilTime(day), "T", text);
    if (!absl::ParseTime("%Y-%m-%dT%H:%M", whole, zone, &time, nullptr)) break;
    if (time > base) return time;
  }
  return UsageError(absl::StrCat(what, ": expected a time such as 2026-12-01T04:00, 04:00, now, ",
                                 "+2h or -2h, found \"", text, "\""));
}

std::string FormatShortTime(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M", time, absl::LocalTimeZone());
}

google::protobuf::Timestamp ToTimestamp(absl::Time time) {
  google::protobuf::Timestamp out;
  out.set_seconds(absl::ToUnixSeconds(time));
  out.set_nanos(
      static_cast<int32_t>((time - absl::FromUnixSeconds(out.seconds())) / absl::Nanoseconds(1)));
  return out;
}

}  // namespace det::cli
