// Options of Determined's command line that have another name here, need no effect, or are not
// supported. The test tests/contract:compatibility_test checks that no option is missing.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/command.h"

namespace det::cli {
namespace {

struct OtherOption {
  const char* commands;  // separated by commas
  const char* name;
  char letter = 0;
  const char* value = "";  // of an option that is accepted
  const char* same_as = "";
  const char* instead = "";  // without it and `same_as`, the option is accepted without effect
};

constexpr char kUp[] = "deploy local up,deploy local cluster-up,deploy local master-up";
constexpr char kUpAndAgent[] =
    "deploy local up,deploy local cluster-up,deploy local master-up,deploy local agent-up";
constexpr char kLocal[] =
    "deploy local up,deploy local cluster-up,deploy local master-up,deploy local agent-up,"
    "deploy local down,deploy local cluster-down,deploy local master-down,deploy local agent-down,"
    "deploy local logs";
constexpr char kDeletesData[] =
    "deploy local up,deploy local cluster-up,deploy local master-up,deploy local down,"
    "deploy local cluster-down,deploy local master-down";
constexpr char kKubernetes[] =
    "the cluster runs on agents, not on Kubernetes. Limit a workspace with `det quota set "
    "workspace WORKSPACE --max-slots N`";

constexpr OtherOption kOptions[] = {
    {"config-policies describe,job list,master cluster-message get,master config show,master info,"
     "token create,token describe,token edit,token list,workspace list-members",
     "yaml"},
    {"job list", "table"},
    {"job list", "resource-pool", 0, "POOL", "pool"},
    {"agent disable", "csv", 0, "", "", "print the agents afterwards with `det agent list --csv`"},
    {"checkpoint download,experiment download,trial download", "output-dir", 0, "DIR", "output"},
    {"experiment create,experiment continue", "follow-first-trial", 0, "", "follow"},
    {"dev bindings call", "auto-confirm", 'y'},
    {"dev bindings list", "show-unusable"},
    {"dev curl", "print-command", 'x', "", "",
     "`det dev auth-token` prints a token for a curl command of your own"},
    {"master cluster-message set", "message", 'm', "MESSAGE", "MESSAGE"},
    {"master cluster-message clear", "clear", 'c'},
    {"master config show", "output", 'o', "", "", "choose the form with --json or --yaml"},
    {"model create,template create", "workspace-name", 0, "WORKSPACE", "workspace"},
    {"model list", "workspace-names", 0, "WORKSPACE", "workspace"},
    {"model move", "workspace-name", 'w', "WORKSPACE", "WORKSPACE"},
    {"project describe", "all", 'a', "", "",
     "list the experiments with `det project list-experiments WORKSPACE PROJECT --all`"},
    {"workspace create", "cluster-name", 0, "", "", kKubernetes},
    {"workspace create", "namespace", 'n', "", "", kKubernetes},
    {"workspace create", "auto-create-namespace", 0, "", "", kKubernetes},
    {"workspace create", "auto-create-namespace-all-clusters", 0, "", "", kKubernetes},
    {"workspace create", "resource-quota", 0, "", "", kKubernetes},
    {kUp, "master-config-path", 0, "FILE", "master-config"},
    {kUp, "master-port", 0, "P", "port"},
    {kUp, "storage-host-path", 0, "", "",
     "set checkpoint_storage.host_path in the file of --master-config"},
    {kUp, "auto-work-dir", 0, "", "",
     "mount the directory with bind_mounts in task_container_defaults in the file of "
     "--master-config"},
    {kUp, "db-password", 0, "", "",
     "the PostgreSQL of the cluster has no password and is open only to its user. For another "
     "server, set db in the file of --master-config"},
    {kDeletesData, "delete-db", 0, "", "",
     "stop the cluster with `det deploy local down` and remove its data directory, which `det "
     "deploy local status` shows"},
    {kLocal, "cluster-name", 0, "", "",
     "a cluster is identified by its data directory; choose one with --data-dir"},
    {"deploy local up,deploy local master-up,deploy local down,deploy local master-down",
     "master-name", 0, "", "",
     "a cluster is identified by its data directory; choose one with --data-dir"},
    {kUpAndAgent, "det-version", 0, "", "",
     "the version is that of this installation, see `det version`"},
    {kUpAndAgent, "image-repo-prefix", 0, "", "",
     "there are no images: the master and agents run as processes"},
    // Processes that exit are restarted by the next `deploy local up` only.
    {kUpAndAgent, "no-autorestart"},
    {kUpAndAgent, "enterprise-edition"},
    {"deploy local agent-up", "master-port", 0, "", "",
     "the agent joins the cluster of --data-dir; for another master start `resolute-agent --master "
     "URL --token-file FILE`"},
    {"deploy local agent-up", "agent-config-path", 0, "", "",
     "set --agent-name and --slots; other settings are flags of `resolute-agent`"},
    {"deploy local agent-up", "agent-resource-pool", 0, "", "",
     "start `resolute-agent --pool POOL --master URL --token-file FILE`"},
    {"deploy local logs", "no-follow"},
};

}  // namespace

void AddDeterminedOptions(std::vector<Command>* commands) {
  for (const OtherOption& other : kOptions) {
    const std::vector<std::string> paths = absl::StrSplit(other.commands, ',');
    for (Command& command : *commands) {
      if (std::find(paths.begin(), paths.end(), absl::StrJoin(command.path, " ")) == paths.end()) {
        continue;
      }
      Option option;
      option.name = other.name;
      option.letter = other.letter;
      option.value = other.value;
      option.same_as = other.same_as;
      option.instead = other.instead;
      option.hidden = true;
      command.options.push_back(std::move(option));
    }
  }
}

}  // namespace det::cli
