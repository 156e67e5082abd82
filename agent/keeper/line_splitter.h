// Splits the bytes of a stream into lines. Called by Keeper. Reads no pipe and no clock; does no
// I/O.
#ifndef AGENT_KEEPER_LINE_SPLITTER_H_
#define AGENT_KEEPER_LINE_SPLITTER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace det::agent {

// Splits at \n and \r. A \r (progress bars) ends a line, but never an empty one; such a line keeps
// its \r, because a terminal overwrites it with the next one. A line longer than kMaxLine is
// continued in the next line.
class LineSplitter {
 public:
  static constexpr size_t kMaxLine = 64 * 1024;

  // Appends the lines that `chunk` completes.
  void Feed(absl::string_view chunk, std::vector<std::string>& lines);

  // Returns whether a line that ends in \r waits for the next byte, which may be a \n.
  bool HasPendingReturn() const { return after_return_ && !flushed_; }
  // Appends that line, if there is one. If a \n follows, the line follows again without its \r,
  // because nothing overwrites it. Called when the stream is idle: the last state of a progress bar
  // must not wait for the next one.
  void FlushReturn(std::vector<std::string>& lines);

  // Appends the last line if it has no line end. Called at the end of the stream.
  void Finish(std::vector<std::string>& lines);

 private:
  void EndLine(std::vector<std::string>& lines);
  void StartLine();
  void CutLongLine(std::vector<std::string>& lines);

  std::string partial_;
  bool after_return_ = false;  // partial_ was ended by a \r, which may be part of a "\r\n"
  bool flushed_ = false;       // FlushReturn has appended partial_
};

}  // namespace det::agent

#endif  // AGENT_KEEPER_LINE_SPLITTER_H_
