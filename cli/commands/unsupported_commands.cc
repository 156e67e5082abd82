// Commands of Determined that this cluster does not support, with alternatives.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "cli/command.h"

namespace det::cli {
namespace {

struct UnsupportedCommand {
  const char* path;  // commands that share a reason, separated by commas
  const char* instead;
};

constexpr UnsupportedCommand kUnsupportedCommands[] = {
    {"trial list", "list the trials of an experiment with `det experiment list-trials EXPERIMENT`"},
    {"workspace bindings",
     "a cluster runs on agents and has no Kubernetes namespaces. Bind a resource pool to a "
     "workspace with `det resource-pool bindings add POOL WORKSPACE`"},
    {"workspace resource-quota",
     "a cluster runs on agents and has no Kubernetes quotas. Limit a workspace with `det quota set "
     "workspace WORKSPACE --max-slots N`"},
    {"auth,oauth",
     "users sign in with a password or an access token: `det user login`, `det token login`"},
    {"deploy aws,deploy gcp,deploy gke-experimental",
     "create machines with other tools. On each of them start `resolute-agent --master URL "
     "--token-file FILE`; `det deploy local up` starts a cluster on this machine"},
};

}  // namespace

std::vector<Command> UnsupportedCommands() {
  std::vector<Command> commands;
  for (const UnsupportedCommand& each : kUnsupportedCommands) {
    for (const auto path : absl::StrSplit(each.path, ',')) {
      Command command;
      command.path = absl::StrSplit(path, ' ');
      command.summary = "Not supported";
      command.instead = each.instead;
      commands.push_back(std::move(command));
    }
  }
  return commands;
}

}  // namespace det::cli
