// Converts the lines of a task to log lines: extracts rank and level. Called on the thread of the
// task. Reads no clock and does no I/O.
#ifndef AGENT_DRIVER_OUTPUT_READER_H_
#define AGENT_DRIVER_OUTPUT_READER_H_

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "agent/core/task.h"
#include "agent/keeper/frame.h"

namespace det::agent {

// Parses the lines of one task, in order. The level of a line is
//   1. ERROR from "Traceback (most recent call last):" to the first line after it that is not
//      indented, which names the exception; separately for each rank and stream;
//   2. the level in its prefix: "LEVEL: text", "LEVEL:name:text", "[... LEVEL] text",
//      "TIME [-] LEVEL ...";
//   3. ERROR, if it begins with an exception's name ("ValueError: text") or with a message
//      of a crashing program ("terminate called", "Segmentation fault");
//   4. INFO.
class OutputReader {
 public:
  // Returns the text without a leading "[rank=N] ", which becomes the rank; the text keeps its
  // level. The caller sets time, stdtype and source.
  OutputLine Read(OutputStream stream, absl::string_view line);

 private:
  using Writer = std::pair<OutputStream, std::optional<int>>;  // one stream of one rank
  LogLevel ClassifyLine(const Writer& writer, absl::string_view text);

  std::set<Writer> tracebacks_;  // streams that are inside a traceback
};

// Replaces bytes that are not UTF-8 by U+FFFD, because protobuf does not accept them. Keeps NUL.
std::string ToValidText(absl::string_view text);

}  // namespace det::agent

#endif  // AGENT_DRIVER_OUTPUT_READER_H_
