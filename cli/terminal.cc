#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace det::cli {
namespace {

const char* Code(Paint paint) {
  switch (paint) {
    case Paint::kBold:
      return "1";
    case Paint::kFaint:
      return "2";
    case Paint::kRunning:
      return "34";
    case Paint::kDone:
      return "32";
    case Paint::kWaiting:
      return "33";
    case Paint::kPaused:
      return "90";
    case Paint::kFailed:
      return "31";
    case Paint::kSeries0:
      return "38;5;74";
    case Paint::kSeries1:
      return "38;5;214";
    case Paint::kSeries2:
      return "38;5;36";
    case Paint::kSeries3:
      return "38;5;175";
    case Paint::kSeries4:
      return "38;5;166";
    case Paint::kSeries5:
      return "38;5;32";
    case Paint::kSeries6:
      return "38;5;221";
    case Paint::kSeries7:
      return "38;5;145";
    case Paint::kPlain:
      break;
  }
  return "";
}

bool StartsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// Returns the number of bytes of the first `columns` characters.
size_t CountBytes(absl::string_view text, int columns) {
  size_t i = 0;
  for (; i < text.size(); ++i) {
    if (StartsCharacter(text[i]) && columns-- == 0) break;
  }
  return i;
}

// Returns false and sets errno if not all of the text was written.
bool Write(std::FILE* file, absl::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
}

// Returns the length of the escape sequence at the start of `text`; 0 if there is none.
size_t EscapeSize(absl::string_view text) {
  if (text.size() < 2 || text[0] != '\x1b' || text[1] != '[') return 0;
  for (size_t i = 2; i < text.size(); ++i) {
    if (text[i] >= 0x40 && text[i] <= 0x7e) return i + 1;
  }
  return text.size();
}

}  // namespace

Style Style::ForStream(int fd) {
  Style style;
  if (isatty(fd) == 0) return style;
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || absl::string_view(term) == "dumb";
  const char* no_colour = std::getenv("NO_COLOR");
  style.in_place = !dumb;
  style.colour = !dumb && (no_colour == nullptr || *no_colour == '\0');
  winsize size = {};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.width = size.ws_col;
    style.height = size.ws_row;
  }
  int columns = 0;
  const char* set = std::getenv("COLUMNS");
  if (set != nullptr && absl::SimpleAtoi(set, &columns) && columns > 0) style.width = columns;
  return style;
}

Paint SeriesPaint(size_t index) {
  return static_cast<Paint>(static_cast<size_t>(Paint::kSeries0) + index % 8);
}

std::string ApplyPaint(absl::string_view text, Paint paint, const Style& style) {
  if (!style.colour || paint == Paint::kPlain || text.empty()) return std::string(text);
  return absl::StrCat("\x1b[", Code(paint), "m", text, "\x1b[0m");
}

int DisplayWidth(absl::string_view text) {
  int width = 0;
  for (const char c : text) width += StartsCharacter(c) ? 1 : 0;
  return width;
}

std::string ShortenMiddle(absl::string_view text, int width) {
  const int has = DisplayWidth(text);
  if (has <= width) return std::string(text);
  if (width <= 1) return width == 1 ? "…" : "";
  const int head = width / 2;
  const int tail = width - 1 - head;
  return absl::StrCat(text.substr(0, CountBytes(text, head)), "…",
                      text.substr(CountBytes(text, has - tail)));
}

std::string WrapText(absl::string_view text, int width, int indent) {
  if (width <= 0) return std::string(text);
  std::string out;
  int column = indent;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    const int taken = DisplayWidth(word);
    if (!out.empty() && column + 1 + taken > width) {
      absl::StrAppend(&out, "\n", std::string(indent, ' '));
      column = indent;
    } else if (!out.empty()) {
      out += ' ';
      ++column;
    }
    out.append(word.data(), word.size());
    column += taken;
  }
  return out;
}

std::string Truncate(absl::string_view painted, int width) {
  if (width <= 0) return "";
  std::string out;
  size_t whole = 0;  // length of the prefix that leaves space for the "…"
  int columns = 0;
  for (size_t i = 0; i < painted.size();) {
    const size_t escape = EscapeSize(painted.substr(i));
    const size_t size = escape > 0 ? escape : CountBytes(painted.substr(i), 1);
    if (escape == 0 && ++columns > width) {
      out.resize(whole);
      return absl::StrCat(out, "…", out.find('\x1b') == out.npos ? "" : "\x1b[0m");
    }
    absl::StrAppend(&out, painted.substr(i, size));
    if (columns < width) whole = out.size();
    i += size;
  }
  return out;
}

std::string RemoveControlCharacters(absl::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return line;
}

void Screen::Print(absl::string_view text) {
  const std::lock_guard lock(mutex_);
  if (output_error_ != 0) return;
  EraseProgressLocked();
  if (!Write(stdout, text)) output_error_ = errno;
  DrawProgressLocked();
}

int Screen::output_error() const {
  const std::lock_guard lock(mutex_);
  return output_error_;
}

void Screen::PrintNotice(absl::string_view line) {
  const std::lock_guard lock(mutex_);
  EraseProgressLocked();
  Write(stderr, absl::StrCat(line, "\n"));
  DrawProgressLocked();
}

void Screen::PrintHint(absl::string_view line) {
  if (err_.in_place) PrintNotice(ApplyPaint(line, Paint::kFaint, err_));
}

void Screen::ShowProgress(absl::string_view line) {
  const std::lock_guard lock(mutex_);
  if (line == progress_) return;
  EraseProgressLocked();
  progress_ = std::string(line);
  if (err_.in_place) {
    DrawProgressLocked();
  } else {
    Write(stderr, absl::StrCat(line, "\n"));
  }
}

void Screen::EndProgress(bool keep) {
  const std::lock_guard lock(mutex_);
  if (drawn_ && keep) {
    Write(stderr, "\n");
    drawn_ = false;
  }
  EraseProgressLocked();
  progress_.clear();
}

void Screen::EraseProgressLocked() {
  if (!drawn_) return;
  Write(stderr, "\r\x1b[K");
  drawn_ = false;
}

void Screen::DrawProgressLocked() {
  if (progress_.empty() || !err_.in_place) return;
  // A longer line would wrap and could not be erased.
  Write(stderr, err_.width > 0 ? Truncate(progress_, err_.width - 1) : progress_);
  drawn_ = true;
}

}  // namespace det::cli
