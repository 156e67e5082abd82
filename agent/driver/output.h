// From what a task writes to log lines: splitting, and the rank and level that a line tells.
// Called by ProcessDriver on a task's thread. Reads no pipe and no clock; does no I/O.
#ifndef AGENT_DRIVER_OUTPUT_H_
#define AGENT_DRIVER_OUTPUT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/core/task.h"

namespace det::agent {

// Splits one stream at \n and \r. A \r (progress bars) makes a line, but never an empty one; a line
// longer than kMaxLine goes on in the next.
class LineSplitter {
 public:
  static constexpr size_t kMaxLine = 64 * 1024;

  // Appends the lines that `chunk` completes.
  void Feed(absl::string_view chunk, std::vector<std::string>& lines);

  // The stream has ended: what is left without a line's end.
  void Finish(std::vector<std::string>& lines);

 private:
  void CutLongLine(std::vector<std::string>& lines);

  std::string partial_;
  bool after_return_ = false;  // the line before was ended by \r
};

// The text as it is shown, without a leading "[rank=N] " which becomes the rank. The level is
// recognised in "LEVEL: text", "LEVEL:name:text", "[... LEVEL] text" and "TIME [-] LEVEL ..."; the
// text keeps it. Time, stdtype and source are the caller's.
OutputLine ParseLine(absl::string_view line);

// Bytes that are not UTF-8, and NUL, become U+FFFD: neither protobuf nor PostgreSQL takes them.
std::string ToValidText(absl::string_view text);

}  // namespace det::agent

#endif  // AGENT_DRIVER_OUTPUT_H_
