#include "cli/commands/confirm.h"

#include <unistd.h>

#include <iostream>

#include "absl/strings/str_cat.h"

namespace det::cli {

const Option kYes = {"yes", 'y', "", "Skip the confirmation"};

absl::Status Confirm(const Invocation& run, const std::string& question) {
  if (run.args.Has("yes")) return absl::OkStatus();
  if (::isatty(STDIN_FILENO) == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        question, " Cannot ask for confirmation without a terminal; confirm with --yes"));
  }
  run.screen->PrintNotice(absl::StrCat(question, " [y/N]"));
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return absl::OkStatus();
  return absl::FailedPreconditionError("canceled; nothing was changed");
}

}  // namespace det::cli
