// The command line program `det`: finds the command in the table, runs it and reports the result.
// Results are printed on stdout, an error as one line on stderr.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/installation.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"

namespace det::cli {
namespace {

int ReportError(Screen& screen, const absl::Status& status) {
  screen.EndProgress(/*keep=*/true);
  if (absl::IsCancelled(status) && Interrupted()) return kExitInterrupted;
  screen.PrintNotice(absl::StrCat("det: ", status.message()));
  return IsUsageError(status) ? kExitUsage : kExitError;
}

// Removes the options before the command and returns them: `det -m URL experiment list`.
std::vector<std::string> TakeLeadingOptions(std::vector<std::string>* words) {
  size_t i = 0;
  while (i < words->size() && (*words)[i].size() > 1 && (*words)[i][0] == '-') {
    const std::string& word = (*words)[i++];
    const bool takes_next = word == "-m" || word == "--master" || word == "-u" || word == "--user";
    if (takes_next && i < words->size()) ++i;
  }
  const auto end = words->begin() + static_cast<std::ptrdiff_t>(i);
  std::vector<std::string> front(words->begin(), end);
  words->erase(words->begin(), end);
  return front;
}

// Returns `words` with the options before any "--", after which all words are positionals.
std::vector<std::string> AppendOptions(std::vector<std::string> words,
                                       const std::vector<std::string>& options) {
  const auto end = std::find(words.begin(), words.end(), "--");
  words.insert(end, options.begin(), options.end());
  return words;
}

// Shows help if it is requested or no command is given; otherwise options without a command are a
// usage error.
int RunGroup(const std::vector<Command>& commands, const std::vector<std::string>& group,
             const std::vector<std::string>& words, Screen& screen) {
  const bool help = HasHelpFlag(words);
  if (!help && words.size() > group.size())
    return ReportError(screen, MissingCommandError(commands, group));
  screen.Print(HelpText(commands, group, screen.out()));
  return help ? kExitOk : kExitUsage;
}

int RunCommand(const Command& command, const std::vector<std::string>& rest, Screen& screen) {
  if (HasHelpFlag(rest)) {
    screen.Print(HelpText(command, screen.out()));
    return kExitOk;
  }
  const absl::StatusOr<int> code = RunWords(command, rest, &screen);
  return code.ok() ? *code : ReportError(screen, code.status());
}

int Run(std::vector<std::string> words, Screen& screen) {
  // Only the version of det; `det version` also shows that of the master.
  if (words.size() == 1 && (words[0] == "--version" || words[0] == "-v" || words[0] == "-V")) {
    screen.Print(absl::StrCat("det ", base::kVersion, "\n"));
    return kExitOk;
  }
  const std::vector<Command> commands = AllCommands();
  const std::vector<std::string> front = TakeLeadingOptions(&words);
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  const std::vector<std::string> all = AppendOptions(words, front);
  const absl::StatusOr<FoundCommand> found = FindCommand(commands, all);
  if (!found.ok()) return ReportError(screen, found.status());
  if (found->command == nullptr) return RunGroup(commands, found->path, all, screen);
  // Before the other words, which may be another program's command line.
  std::vector<std::string> rest = front;
  rest.insert(rest.end(), words.begin() + static_cast<std::ptrdiff_t>(found->path.size()),
              words.end());
  return RunCommand(*found->command, rest, screen);
}

// Returns the exit code, or an error if not all results could be written.
int FinishOutput(int code, Screen& screen) {
  const int error = screen.output_error();
  if (error == 0) return code;
  // A closed pipe, as in `det experiment list | head`, is not reported.
  if (error != EPIPE)
    screen.PrintNotice(absl::StrCat("det: cannot write to stdout: ", strerror(error)));
  return kExitError;
}

// Returns the style of the stream, without colors if --no-color is given before any "--".
Style GetStyle(int fd, const std::vector<std::string>& words) {
  Style style = Style::ForStream(fd);
  const auto end = std::find(words.begin(), words.end(), "--");
  if (std::find(words.begin(), end, "--no-color") != end) style.colour = false;
  return style;
}

// Prevents a file that det opens from becoming its stdout if det was started without one.
void FillStandardFds() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // Read-only, so that writes fail and are reported.
    if (fcntl(fd, F_GETFD) < 0) (void)open("/dev/null", O_RDONLY);
  }
}

}  // namespace
}  // namespace det::cli

int main(int argc, char** argv) {
  det::cli::FillStandardFds();
  det::cli::InstallInterrupt();
  const std::vector<std::string> words(argv + 1, argv + argc);
  det::cli::Screen screen(det::cli::GetStyle(STDOUT_FILENO, words),
                          det::cli::GetStyle(STDERR_FILENO, words));
  const int code = det::cli::Run(words, screen);
  return det::cli::FinishOutput(code, screen);
}
