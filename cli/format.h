// Values as people read them: states with their marks, times, sizes, numbers.
// Called by commands. Does no I/O.
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
absl::string_view StateWord(absl::string_view name);

// A state's name, as the API spells it, with the mark and colour that go with it: "✓ COMPLETED". In
// CSV without the mark.
Cell StateCell(absl::string_view name);
absl::string_view StateMark(absl::string_view name);

// Whether it is the last state: nothing more will happen.
bool IsTerminal(absl::string_view name);

absl::Time ToTime(const google::protobuf::Timestamp& time);

// "4 min ago"; "-" for a time that was not set.
std::string Ago(const google::protobuf::Timestamp& time, absl::Time now);
// The same, in CSV the time itself: "2026-11-21T09:42:40Z".
Cell AgoCell(const google::protobuf::Timestamp& time, absl::Time now);

// "2026-11-21 09:42:40 +00:00", local; "-" if not set.
std::string Exact(const google::protobuf::Timestamp& time);

// "6 min", "1 h 04 min".
std::string Span(absl::Duration span);

// "1.4 MiB".
std::string Bytes(int64_t bytes);

// A metric with the digits that tell: "0.9132".
std::string Number(double value);

// "1 slot", "2 slots".
std::string Counted(int64_t count, absl::string_view noun);

// 0.62 -> "62 %".
std::string Percent(double fraction);

// 0.62 -> "█████████▎░░░░░": always as wide.
std::string Bar(double fraction);

}  // namespace det::cli

#endif  // CLI_FORMAT_H_
