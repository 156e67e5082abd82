// Formats values for users: states with symbols, times, sizes, numbers. Used by commands. Does no
// I/O.
#ifndef CLI_FORMAT_H_
#define CLI_FORMAT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/table.h"

namespace google::protobuf {
class Timestamp;
}

namespace det::cli {

// "STATE_STOPPING_KILLED" -> "STOPPING_KILLED".
absl::string_view TrimStatePrefix(absl::string_view name);

// Returns a state, named as in the API, with its symbol and color: "✓ COMPLETED". CSV has no
// symbol.
Cell MakeStateCell(absl::string_view name);
absl::string_view GetStateSymbol(absl::string_view name);

// Returns whether the state is final.
bool IsTerminal(absl::string_view name);

absl::Time ToTime(const google::protobuf::Timestamp& time);

// Returns "4 min ago"; "-" for an unset time.
std::string FormatAge(const google::protobuf::Timestamp& time, absl::Time now);
// Same as a cell whose CSV value is the exact time: "2026-11-21T09:42:40Z".
Cell MakeAgeCell(const google::protobuf::Timestamp& time, absl::Time now);

// Returns the local time, "2026-11-21 09:42:40 +00:00"; "-" if unset.
std::string FormatTimestamp(const google::protobuf::Timestamp& time);

// "6 min", "1 h 04 min".
std::string FormatSpan(absl::Duration span);

// "1.4 MiB".
std::string FormatBytes(int64_t bytes);

// Formats a metric with its significant digits: "0.9132".
std::string FormatNumber(double value);

// Formats a number without trailing digits: "64", "0.0091".
std::string FormatPlainNumber(double number);

// "1 slot", "2 slots".
std::string FormatCount(int64_t count, absl::string_view noun);

// 0.62 -> "62 %".
std::string FormatPercent(double fraction);

// 0.62 -> "█████████▎░░░░░", always of the same width.
std::string MakeProgressBar(double fraction);

}  // namespace det::cli

#endif  // CLI_FORMAT_H_
