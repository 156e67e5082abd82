// Parses times of the command line. Used by commands. Does no I/O; uses the local time zone.
#ifndef CLI_COMMANDS_TIME_TEXT_H_
#define CLI_COMMANDS_TIME_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/protobuf/timestamp.pb.h"

namespace det::cli {

// Parses "2026-12-01T04:00", with or without seconds and zone (default: local); "04:00", the next
// occurrence after `base`; "now", "+2h" and "-2h", relative to `base`. A usage error names `what`
// and the formats.
absl::StatusOr<absl::Time> ParseTime(absl::string_view what, const std::string& text,
                                     absl::Time base);

// "2026-12-01 04:00", local time.
std::string FormatShortTime(absl::Time time);

google::protobuf::Timestamp ToTimestamp(absl::Time time);

}  // namespace det::cli

#endif  // CLI_COMMANDS_TIME_TEXT_H_
