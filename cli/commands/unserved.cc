// Commands that people know from elsewhere and that there are not here: what to do instead.
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "cli/command.h"

namespace det::cli {
namespace {

struct Unserved {
  const char* path;  // of all that have a reason in common, with commas
  const char* instead;
};

constexpr Unserved kUnserved[] = {
    {"command run,command describe,command config,command logs,command kill,command set",
     "this cluster runs trials alone. A program runs as an experiment of one trial: with "
     "`entrypoint: PROGRAM` in a configuration, `det experiment create CONFIG DIR -f`"},
    {"notebook start,notebook describe,notebook open,notebook config,notebook logs,notebook kill,"
     "notebook set",
     "this cluster runs trials alone. Start Jupyter on a machine of your own, after `det user "
     "login`: `det.experimental.client` reads experiments, metrics and checkpoints there"},
    {"shell start,shell describe,shell open,shell show-ssh-command,shell config,shell logs,"
     "shell kill,shell set",
     "this cluster runs trials alone. `det task list` names the agents of a task, to log in on "
     "their machines; `det trial logs TRIAL -f` shows what it says"},
    {"tensorboard start,tensorboard describe,tensorboard open,tensorboard config,tensorboard logs,"
     "tensorboard kill,tensorboard set",
     "this cluster runs trials alone. `det experiment watch EXPERIMENT` draws curves, and so does "
     "the dashboard; `det experiment describe EXPERIMENT --metrics` prints their numbers"},
    {"task create,task config,task fork,task kill,task pause,task unpause",
     "tasks belong to trials. Pause an experiment with `det experiment pause EXPERIMENT`, end a "
     "trial with `det trial kill TRIAL`"},
    {"trial list", "trials are listed by experiment, with `det experiment list-trials EXPERIMENT`"},
    {"task cleanup-logs",
     "the master removes logs when their time is over. Say how long that is with `det experiment "
     "set log-retention EXPERIMENT --days N`"},
    {"experiment delete-tb-files",
     "what an experiment has written goes with it. Delete it with `det experiment delete "
     "EXPERIMENT`, or checkpoints alone with `det checkpoint delete`"},
    {"workspace bindings",
     "a cluster runs on agents, and has no namespaces of Kubernetes. Bind a pool of agents to a "
     "workspace with `det resource-pool bindings add POOL WORKSPACE`"},
    {"workspace resource-quota",
     "a cluster runs on agents, and has no quotas of Kubernetes. Limit a workspace with `det quota "
     "set workspace WORKSPACE --max-slots N`"},
    {"user-group,rbac list-groups-roles",
     "there are no groups of users. Give each user the role with `det rbac assign-role ROLE "
     "--username-to-assign USER`"},
    {"auth,oauth",
     "users have a password of this cluster, or an access token: `det user login`, `det token "
     "login`"},
    {"deploy aws,deploy gcp,deploy gke-experimental",
     "machines are rented by other programs. On each of them start `resolute-agent --master URL "
     "--token-file FILE`; `det deploy local up` starts a cluster on this machine"},
};

}  // namespace

std::vector<Command> UnservedCommands() {
  std::vector<Command> commands;
  for (const Unserved& each : kUnserved) {
    for (const auto path : absl::StrSplit(each.path, ',')) {
      Command command;
      command.path = absl::StrSplit(path, ' ');
      command.summary = "not served here";
      command.instead = each.instead;
      commands.push_back(std::move(command));
    }
  }
  return commands;
}

}  // namespace det::cli
