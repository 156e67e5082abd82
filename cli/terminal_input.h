// Reads user input: lines, passwords without echo, single keys. Used by commands on the main
// thread, which blocks; an interrupt ends every wait. Restores the terminal settings.
#ifndef CLI_TERMINAL_INPUT_H_
#define CLI_TERMINAL_INPUT_H_

#include <termios.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace det::cli {

// Returns whether a user can be prompted: stdin and stderr are terminals.
bool IsInteractive();

// Disables echo while it exists; with `keys`, keys are read without Enter. Does nothing if stdin is
// not a terminal.
class NoEchoInput {
 public:
  explicit NoEchoInput(bool keys);
  ~NoEchoInput();
  NoEchoInput(const NoEchoInput&) = delete;

 private:
  std::optional<termios> before_;
};

// Returns the next line of stdin without its newline. If stdin is a terminal, `prompt` is shown on
// stderr. Returns INVALID_ARGUMENT at the end of stdin.
absl::StatusOr<std::string> PromptLine(absl::string_view prompt);

// Same as PromptLine, without echo.
absl::StatusOr<std::string> PromptPassword(absl::string_view prompt);

// Returns a key that is pressed within `timeout` while a NoEchoInput with `keys` exists; 0 if no
// key is pressed or stdin has ended. Returns CANCELLED when interrupted.
absl::StatusOr<char> NextKey(absl::Duration timeout);

}  // namespace det::cli

#endif  // CLI_TERMINAL_INPUT_H_
