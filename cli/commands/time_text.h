// Times as people type them.
// Called by commands. Does no I/O; the zone is the machine's.
#ifndef CLI_COMMANDS_TIME_TEXT_H_
#define CLI_COMMANDS_TIME_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/protobuf/timestamp.pb.h"

namespace det::cli {

// "2026-12-01T04:00", with seconds and a zone or without (then local); "04:00", the next one after
// `base`; "now", "+2h" and "-2h" count from `base`. A usage error names `what` and the forms.
absl::StatusOr<absl::Time> ParseTime(absl::string_view what, const std::string& text,
                                     absl::Time base);

// "2026-12-01 04:00", local.
std::string ShortTime(absl::Time time);

google::protobuf::Timestamp ToTimestamp(absl::Time time);

}  // namespace det::cli

#endif  // CLI_COMMANDS_TIME_TEXT_H_
