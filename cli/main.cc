// det: the command line. Finds the command in the table, runs it, and says how it ended: results on
// stdout, one line on stderr for an error, the exit code.
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"

namespace det::cli {
namespace {

int Fail(Screen& screen, const absl::Status& status) {
  screen.EndProgress(/*keep=*/true);
  if (absl::IsCancelled(status) && Interrupted()) return kExitInterrupted;
  screen.Note(absl::StrCat("det: ", status.message()));
  return IsUsageError(status) ? kExitUsage : kExitError;
}

bool AsksForHelp(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") return false;
    if (word == "-h" || word == "--help") return true;
  }
  return false;
}

// Options that stand before the command mean the same as after it: `det -m URL experiment list`.
std::vector<std::string> CommandFirst(const std::vector<std::string>& words) {
  std::vector<std::string> front;
  size_t i = 0;
  while (i < words.size() && words[i].size() > 1 && words[i][0] == '-') {
    front.push_back(words[i++]);
    const bool takes_next = front.back() == "-m" || front.back() == "--master";
    if (takes_next && i < words.size()) front.push_back(words[i++]);
  }
  std::vector<std::string> out(words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
  // Before a "--", after which all are plain words.
  const auto end = std::find(out.begin(), out.end(), "--");
  out.insert(end, front.begin(), front.end());
  return out;
}

int Run(const std::vector<std::string>& given) {
  Screen screen(Style::ForStream(STDOUT_FILENO), Style::ForStream(STDERR_FILENO));
  const std::vector<Command> commands = AllCommands();
  std::vector<std::string> words = CommandFirst(given);
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  if (words.empty() || words[0] == "-h" || words[0] == "--help") {
    screen.Print(HelpText(commands, {}, screen.out()));
    return words.empty() ? kExitUsage : kExitOk;
  }
  if (words[0] == "--version") words = {"version"};
  const absl::StatusOr<FoundCommand> found = FindCommand(commands, words);
  if (!found.ok() && AsksForHelp(words)) {
    screen.Print(HelpText(commands, {}, screen.out()));
    return kExitOk;
  }
  if (!found.ok()) return Fail(screen, found.status());
  if (AsksForHelp(words)) {
    screen.Print(HelpText(*found->command, screen.out()));
    return kExitOk;
  }
  std::vector<Option> options = found->command->options;
  options.insert(options.end(), CommonOptions().begin(), CommonOptions().end());
  const absl::StatusOr<Arguments> args =
      ParseArguments(options, found->command->positionals,
                     {words.begin() + static_cast<std::ptrdiff_t>(found->words), words.end()});
  const std::string path = absl::StrJoin(found->command->path, " ");
  if (!args.ok()) {
    return Fail(screen, UsageError(absl::StrCat(path, ": ", args.status().message(), "; see `det ",
                                                path, " --help`")));
  }
  Invocation run(*args, &screen);
  const absl::StatusOr<int> code = found->command->run(run);
  return code.ok() ? *code : Fail(screen, code.status());
}

}  // namespace
}  // namespace det::cli

int main(int argc, char** argv) {
  det::cli::InstallInterrupt();
  return det::cli::Run({argv + 1, argv + argc});
}
