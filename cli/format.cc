#include "cli/format.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "google/protobuf/timestamp.pb.h"

namespace det::cli {
namespace {

struct Appearance {
  absl::string_view symbol;
  Paint paint;
};

Appearance GetAppearance(absl::string_view word) {
  if (word == "COMPLETED") return {"✓", Paint::kDone};
  if (word == "ERROR" || word == "DELETE_FAILED") return {"✕", Paint::kFailed};
  if (word == "CANCELED" || word == "DELETED" || word == "KILLED" || word == "PARTIALLY_DELETED") {
    return {"■", Paint::kPaused};
  }
  if (word == "PAUSED") return {"‖", Paint::kPaused};
  if (word == "QUEUED" || word == "PULLING" || word == "STARTING" || word == "UNSPECIFIED") {
    return {"◔", Paint::kWaiting};
  }
  return {"●", Paint::kRunning};
}

}  // namespace

absl::string_view TrimStatePrefix(absl::string_view name) {
  absl::ConsumePrefix(&name, "STATE_");
  return name;
}

Cell MakeStateCell(absl::string_view name) {
  const Appearance appearance = GetAppearance(TrimStatePrefix(name));
  return Cell(absl::StrCat(appearance.symbol, " ", TrimStatePrefix(name)), appearance.paint,
              TrimStatePrefix(name));
}

absl::string_view GetStateSymbol(absl::string_view name) {
  return GetAppearance(TrimStatePrefix(name)).symbol;
}

bool IsTerminal(absl::string_view name) {
  const absl::string_view word = TrimStatePrefix(name);
  return word == "COMPLETED" || word == "ERROR" || word == "CANCELED" ||
         absl::StartsWith(word, "DELET");
}

absl::Time ToTime(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

std::string FormatAge(const google::protobuf::Timestamp& time, absl::Time now) {
  if (time.seconds() == 0) return "-";
  const absl::Duration age = now - ToTime(time);
  if (age < absl::Seconds(2)) return "now";
  return absl::StrCat(FormatSpan(age), " ago");
}

Cell MakeAgeCell(const google::protobuf::Timestamp& time, absl::Time now) {
  if (time.seconds() == 0) return Cell("-");
  return Cell(FormatAge(time, now), Paint::kPlain,
              absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ", ToTime(time), absl::UTCTimeZone()));
}

std::string FormatTimestamp(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0) return "-";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S %Ez", ToTime(time), absl::LocalTimeZone());
}

std::string FormatSpan(absl::Duration span) {
  const int64_t seconds = std::llround(absl::ToDoubleSeconds(span));
  if (seconds < 60) return absl::StrCat(seconds, " s");
  if (seconds < 3600) return absl::StrCat(seconds / 60, " min");
  if (seconds < 48 * 3600)
    return absl::StrFormat("%d h %02d min", seconds / 3600, seconds / 60 % 60);
  return absl::StrCat(seconds / 86400, " d");
}

std::string FormatBytes(int64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes);
  for (const char* unit : {"KiB", "MiB", "GiB", "TiB"}) {
    value /= 1024;
    if (value < 1000) return absl::StrFormat("%.1f %s", value, unit);
  }
  return absl::StrFormat("%.1f PiB", value / 1024);
}

std::string FormatNumber(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  const double size = std::fabs(value);
  if (size != 0 && (size < 1e-3 || size >= 1e6)) return absl::StrFormat("%.3e", value);
  return absl::StrFormat("%.4f", value);
}

std::string FormatCount(int64_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

std::string FormatPercent(double fraction) {
  // Rounds down, so that 100 % is shown only when it is done.
  return absl::StrFormat("%d %%", static_cast<int>(std::floor(fraction * 100 + 1e-6)));
}

std::string FormatPlainNumber(double number) {
  const bool whole = std::floor(number) == number && std::abs(number) < 1e15;
  return whole ? absl::StrCat(static_cast<int64_t>(number)) : absl::StrCat(number);
}

std::string MakeProgressBar(double fraction) {
  constexpr int kCells = 15;
  constexpr const char* kParts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * kCells * 8);
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  bar += kParts[eighths % 8];
  for (int i = (eighths + 7) / 8; i < kCells; ++i) bar += "░";
  return bar;
}

}  // namespace det::cli
