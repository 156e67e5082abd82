// From a line that a task wrote to a log line: the rank and the level that it tells.
// Called by ProcessDriver on a task's thread. Reads no clock; does no I/O.
#ifndef AGENT_DRIVER_OUTPUT_H_
#define AGENT_DRIVER_OUTPUT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "agent/core/task.h"

namespace det::agent {

// The text as it is shown, without a leading "[rank=N] " which becomes the rank. The level is
// recognised in "LEVEL: text", "LEVEL:name:text", "[... LEVEL] text" and "TIME [-] LEVEL ..."; the
// text keeps it. Time, stdtype and source are the caller's.
OutputLine ParseLine(absl::string_view line);

// Bytes that are not UTF-8, and NUL, become U+FFFD: neither protobuf nor PostgreSQL takes them.
std::string ToValidText(absl::string_view text);

}  // namespace det::agent

#endif  // AGENT_DRIVER_OUTPUT_H_
