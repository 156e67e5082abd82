#include "cli/terminal_input.h"

#include <poll.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"

namespace det::cli {
namespace {

constexpr size_t kMaxLineLength = 4096;

void Show(absl::string_view text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

// Reads byte by byte, because text after the line belongs to the next reader.
absl::StatusOr<std::string> ReadLine() {
  std::string line;
  while (line.size() < kMaxLineLength) {
    DET_RETURN_IF_ERROR(WaitFor(STDIN_FILENO, POLLIN, absl::InfiniteDuration()));
    char byte = 0;
    const ssize_t got = read(STDIN_FILENO, &byte, 1);
    if (got < 0) continue;  // An interrupt is detected by the wait.
    if (got == 0 && line.empty()) return absl::InvalidArgumentError("no input on stdin");
    if (got == 0 || byte == '\n') break;
    line += byte;
  }
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

}  // namespace

bool IsInteractive() { return isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0; }

NoEchoInput::NoEchoInput(bool keys) {
  termios now = {};
  if (tcgetattr(STDIN_FILENO, &now) != 0) return;
  before_ = now;
  now.c_lflag &= ~static_cast<tcflag_t>(ECHO | (keys ? ICANON : 0));
  tcsetattr(STDIN_FILENO, TCSANOW, &now);
}

NoEchoInput::~NoEchoInput() {
  if (before_) tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
}

absl::StatusOr<std::string> PromptLine(absl::string_view prompt) {
  if (isatty(STDIN_FILENO) != 0) Show(prompt);
  return ReadLine();
}

absl::StatusOr<std::string> PromptPassword(absl::string_view prompt) {
  const NoEchoInput quiet(/*keys=*/false);
  absl::StatusOr<std::string> line = PromptLine(prompt);
  if (absl::IsInvalidArgument(line.status())) {
    line = absl::InvalidArgumentError("no password on stdin; write it there as one line");
  }
  if (isatty(STDIN_FILENO) != 0) Show("\n");  // The newline that the user typed was not echoed.
  return line;
}

absl::StatusOr<char> NextKey(absl::Duration timeout) {
  const bool can = isatty(STDIN_FILENO) != 0;
  const absl::Status waited = WaitFor(can ? STDIN_FILENO : -1, can ? POLLIN : 0, timeout);
  if (absl::IsCancelled(waited)) return waited;
  char byte = 0;
  if (!waited.ok() || read(STDIN_FILENO, &byte, 1) != 1) return '\0';
  return byte;
}

}  // namespace det::cli
