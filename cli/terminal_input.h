// What a person types: lines, passwords that are not shown, single keys.
// Called by commands on the main thread, which waits; every wait ends when det is interrupted.
// Leaves the terminal as it found it.
#ifndef CLI_TERMINAL_INPUT_H_
#define CLI_TERMINAL_INPUT_H_

#include <termios.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace det::cli {

// Whether somebody can be asked: stdin and stderr are terminals.
bool IsInteractive();

// While it lives, what is typed is not shown; with `keys` each key is there at once, without Enter.
// Does nothing where stdin is no terminal.
class QuietInput {
 public:
  explicit QuietInput(bool keys);
  ~QuietInput();
  QuietInput(const QuietInput&) = delete;

 private:
  std::optional<termios> before_;
};

// The next line of stdin without its end. `prompt` is shown on stderr if stdin is a terminal.
// INVALID_ARGUMENT at the end of stdin.
absl::StatusOr<std::string> AskLine(absl::string_view prompt);

// The same, not shown while it is typed.
absl::StatusOr<std::string> AskPassword(absl::string_view prompt);

// A key pressed within `timeout` under QuietInput with `keys`; 0: none, or stdin has ended.
// CANCELLED when interrupted.
absl::StatusOr<char> NextKey(absl::Duration timeout);

}  // namespace det::cli

#endif  // CLI_TERMINAL_INPUT_H_
