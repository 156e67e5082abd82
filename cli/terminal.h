// Terminal output: colors, width, and one progress line that other output does not break. Created
// by main and used by all commands; Screen can be used on any thread. Never writes an escape
// sequence to a stream that is not a terminal.
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
  // Curves use the palette of Okabe and Ito in its order, approximated in 256 colors.
  kSeries0,
  kSeries1,
  kSeries2,
  kSeries3,
  kSeries4,
  kSeries5,
  kSeries6,
  kSeries7,
};

// Returns the color of the curve `index`; repeats after eight curves.
Paint SeriesPaint(size_t index);

// How text is shown on a stream.
struct Style {
  bool colour = false;
  bool in_place = false;  // True for a terminal: a line can be overwritten.
  int width = 0;          // Columns; 0 if unlimited.
  int height = 0;         // Lines; 0 if unknown.

  // Determines the style from the stream and from NO_COLOR, TERM and COLUMNS.
  static Style ForStream(int fd);
};

std::string ApplyPaint(absl::string_view text, Paint paint, const Style& style);

// Returns the number of columns of UTF-8 text.
int DisplayWidth(absl::string_view text);

// Returns `text` in at most `width` columns, with "…" in place of the middle.
std::string ShortenMiddle(absl::string_view text, int width);

// Returns `text` broken at spaces into lines of at most `width` columns (0: unlimited); a longer
// word is not broken. Lines after the first are indented by `indent` spaces; the first line starts
// at column `indent`, which the caller has written.
std::string WrapText(absl::string_view text, int width, int indent);

// Returns the beginning of colored text in at most `width` columns, with "…" if it is truncated.
// Colors are reset at the end.
std::string Truncate(absl::string_view painted, int width);

// Returns `text` without control characters, so that external text cannot move the cursor.
std::string RemoveControlCharacters(absl::string_view text);

// Writes results to stdout, progress and errors to stderr. Both can be the same terminal.
class Screen {
 public:
  Screen(Style out, Style err) : out_(out), err_(err) {}

  const Style& out() const { return out_; }
  const Style& err() const { return err_; }

  // Prints a result; `text` ends with a newline. Does nothing after a failed write.
  void Print(absl::string_view text);

  // Returns the errno of the first failed write to stdout; 0 if there was none.
  int output_error() const;

  // Prints a line on stderr; `line` has no newline.
  void PrintNotice(absl::string_view line);

  // Prints the next command to try, faint, on a terminal only.
  void PrintHint(absl::string_view line);

  // Shows progress: updated in place on a terminal; otherwise printed as a line when it changes.
  void ShowProgress(absl::string_view line);

  // Ends the progress line, so that later output is below it. With `keep` the line stays visible.
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
