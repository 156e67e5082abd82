// det shell start|open|show-ssh-command|ssh-config, and the verbs that all kinds of tasks share
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/commands/task_kind.h"

namespace det::cli {
namespace {

constexpr TaskKind kShell = {"shell", "Shell", "SHELL"};

}  // namespace

std::vector<Command> ShellCommands() { return TaskVerbs<kShell>(); }

}  // namespace det::cli
