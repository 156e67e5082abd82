// From the lines that a task wrote to log lines: the rank and the level that they tell.
// Called by KeptTask on a task's thread. Reads no clock; does no I/O.
#ifndef AGENT_DRIVER_OUTPUT_H_
#define AGENT_DRIVER_OUTPUT_H_

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "agent/core/task.h"
#include "agent/keeper/frame.h"

namespace det::agent {

// Reads the lines of one task, in their order. A line's level is
//   1. ERROR from "Traceback (most recent call last):" to the first line after it that is not
//      indented, which names the exception; of each rank and stream for itself;
//   2. what its prefix says: "LEVEL: text", "LEVEL:name:text", "[... LEVEL] text",
//      "TIME [-] LEVEL ...";
//   3. ERROR, if it begins with an exception's name ("ValueError: text") or with the last words
//      of a program ("terminate called", "Segmentation fault");
//   4. INFO.
class OutputReader {
 public:
  // The text as it is shown, without a leading "[rank=N] " which becomes the rank; the text keeps
  // its level. Time, stdtype and source are the caller's.
  OutputLine Read(OutputStream stream, absl::string_view line);

 private:
  using Writer = std::pair<OutputStream, std::optional<int>>;  // a stream of a rank
  LogLevel LevelOfLine(const Writer& writer, absl::string_view text);

  std::set<Writer> tracebacks_;  // who is in the midst of one
};

// Bytes that are not UTF-8, and NUL, become U+FFFD: neither protobuf nor PostgreSQL takes them.
std::string ToValidText(absl::string_view text);

}  // namespace det::agent

#endif  // AGENT_DRIVER_OUTPUT_H_
