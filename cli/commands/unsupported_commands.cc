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
    {"notebook start,notebook describe,notebook open,notebook config,notebook logs,notebook kill,"
     "notebook set",
     "this cluster runs only trials and commands. Start Jupyter on your own machine after `det user login`; "
     "there, `det.experimental.client` reads experiments, metrics and checkpoints"},
    {"shell start,shell describe,shell open,shell show-ssh-command,shell config,shell logs,"
     "shell kill,shell set",
     "this cluster runs only trials and commands. `det task list` shows the agents of a task; log in to their "
     "machines. `det trial logs TRIAL -f` streams its logs"},
    {"tensorboard start,tensorboard describe,tensorboard open,tensorboard config,tensorboard logs,"
     "tensorboard kill,tensorboard set",
     "this cluster runs only trials and commands. `det experiment watch EXPERIMENT` and the dashboard draw "
     "curves; `det experiment describe EXPERIMENT --metrics` prints the values"},
    {"task create,task config,task fork,task kill,task pause,task unpause",
     "tasks belong to trials. Pause an experiment with `det experiment pause EXPERIMENT`, kill a "
     "trial with `det trial kill TRIAL`"},
    {"trial list", "list the trials of an experiment with `det experiment list-trials EXPERIMENT`"},
    {"task cleanup-logs",
     "the master removes logs when their retention ends. Set it with `det experiment set "
     "log-retention EXPERIMENT --days N`"},
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
