// What can be shown where: colours, width, and one progress line that other output does not tear.
// Made by main, used by every command; Screen from any thread.
// Never writes an escape sequence to what is no terminal.
#ifndef CLI_TERMINAL_H_
#define CLI_TERMINAL_H_

#include <mutex>
#include <string>

#include "absl/strings/string_view.h"

namespace det::cli {

enum class Paint {
  kPlain,
  kBold,
  kFaint,
  kRunning,
  kDone,
  kWaiting,
  kPaused,
  kFailed,
  // Curves: the colours of Okabe and Ito in their order, as near as 256 colours come.
  kSeries0,
  kSeries1,
  kSeries2,
  kSeries3,
  kSeries4,
  kSeries5,
  kSeries6,
  kSeries7,
};

// Of the curve with this number; after the eighth the first again.
Paint SeriesPaint(size_t index);

// How one stream shows things.
struct Style {
  bool colour = false;
  bool in_place = false;  // A line can be written again: a terminal.
  int width = 0;          // Columns; 0: no limit.
  int height = 0;         // Lines; 0: not known.

  // From the stream itself and NO_COLOR, TERM, COLUMNS.
  static Style ForStream(int fd);
};

std::string Painted(absl::string_view text, Paint paint, const Style& style);

// Columns that UTF-8 text takes.
int DisplayWidth(absl::string_view text);

// `text` in at most `width` columns, with "…" for the middle that is left out.
std::string Shortened(absl::string_view text, int width);

// `text` broken at spaces, so that it takes at most `width` columns (0: no limit) and its further
// lines begin with `indent` spaces; a longer word stays whole. The first line has `indent` columns
// before it, which the caller has written.
std::string Wrapped(absl::string_view text, int width, int indent);

// The beginning of painted text in at most `width` columns, with "…" for the rest. What it leaves
// out takes no colour with it.
std::string CutOff(absl::string_view painted, int width);

// `text` without what could move the cursor, for words from outside.
std::string OneLine(absl::string_view text);

// stdout for results, stderr for progress and errors, both perhaps the same terminal.
class Screen {
 public:
  Screen(Style out, Style err) : out_(out), err_(err) {}

  const Style& out() const { return out_; }
  const Style& err() const { return err_; }

  // A result. `text` ends with a newline. After a write that failed: nothing.
  void Print(absl::string_view text);

  // The errno of the first result that could not be written; 0: all are out.
  int output_error() const;

  // A line on stderr, without a newline at its end.
  void Note(absl::string_view line);

  // The next command to try: a faint note on a terminal, nothing in a pipe.
  void Hint(absl::string_view line);

  // Progress: updated in place on a terminal; in a pipe a line of its own when it has changed.
  void Progress(absl::string_view line);

  // Ends the progress line: what comes later stands below it. `keep` leaves it there.
  void EndProgress(bool keep);

 private:
  void EraseProgressLocked();
  void DrawProgressLocked();

  const Style out_;
  const Style err_;
  mutable std::mutex mutex_;
  std::string progress_;
  bool drawn_ = false;
  int output_error_ = 0;
};

}  // namespace det::cli

#endif  // CLI_TERMINAL_H_
