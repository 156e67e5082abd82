// det deploy local master-up|master-down|agent-up|agent-down
#include <unistd.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "cli/commands/deploy.h"

namespace det::cli {
namespace {

// Prints `text`, or the state of the cluster as JSON.
absl::StatusOr<int> PrintState(Invocation& run, const LocalCluster& cluster,
                               const std::string& text) {
  DET_ASSIGN_OR_RETURN(const std::optional<ClusterState> state, cluster.Running());
  run.screen->Print(run.json() ? ToJsonText(cluster, state ? &*state : nullptr) : text);
  return kExitOk;
}

absl::StatusOr<int> RunMasterUp(Invocation& run) { return UpLocal(run, /*alone=*/true); }

// Returns an error unless `host` is a name of this machine.
absl::Status CheckIsLocalHost(const std::string& host) {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  const std::set<std::string> here = {"", "localhost", "127.0.0.1", "::1", name};
  if (here.contains(host)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the master on ", host,
                   " is not part of the local cluster; start an agent for it with `resolute-agent "
                   "--master http://",
                   host,
                   ":8080 --token-file FILE`, where FILE is a copy of agent.token in the master's "
                   "data directory"));
}

absl::StatusOr<int> RunAgentUp(Invocation& run) {
  DET_RETURN_IF_ERROR(CheckIsLocalHost(run.args.Word("MASTER_HOST")));
  ClusterOptions options;
  DET_ASSIGN_OR_RETURN(options.slots, ReadOptionalInt(run, "slots", 0, 1024));
  DET_ASSIGN_OR_RETURN(options.gpu, ReadGpuOption(run));
  LocalCluster cluster = OpenCluster(run);
  const absl::StatusOr<UpResult> up =
      cluster.AddAgent(run.args.Get("agent-name").value_or(""), options, ShowSteps(run));
  run.screen->EndProgress(/*keep=*/false);
  DET_RETURN_IF_ERROR(up);
  if (run.json()) {
    run.screen->Print(ToJsonText(cluster, &up->state));
  } else if (up->started.empty()) {
    run.screen->Print(absl::StrCat("already running: ", FormatSummary(up->state), "\n"));
  } else {
    run.screen->Print(absl::StrCat("started ", absl::StrJoin(up->started, ", "), ": ",
                                   FormatSummary(up->state), "\n", FormatChosenSlots(*up)));
    PrintTrialPython(run);
  }
  return kExitOk;
}

absl::StatusOr<int> RunAgentDown(Invocation& run) {
  if (run.args.Has("all") == run.args.Has("agent-name")) {
    return UsageError("agent-down needs either --agent-name AGENT or --all");
  }
  LocalCluster cluster = OpenCluster(run);
  const auto stopped = cluster.RemoveAgents(run.args.Get("agent-name"), ShowSteps(run));
  run.screen->EndProgress(/*keep=*/false);
  DET_RETURN_IF_ERROR(stopped);
  return PrintState(run, cluster,
                    stopped->empty()
                        ? absl::StrCat("no agents are running in ", cluster.data_dir(), "\n")
                        : absl::StrCat("stopped ", absl::StrJoin(*stopped, ", "), "\n"));
}

absl::StatusOr<int> RunMasterDown(Invocation& run) {
  LocalCluster cluster = OpenCluster(run);
  const absl::StatusOr<bool> stopped = cluster.MasterDown(ShowSteps(run));
  run.screen->EndProgress(/*keep=*/false);
  DET_RETURN_IF_ERROR(stopped);
  return PrintState(run, cluster,
                    *stopped ? "stopped the master\n"
                             : absl::StrCat("no master is running in ", cluster.data_dir(), "\n"));
}

}  // namespace

std::vector<Command> DeployMemberCommands() {
  std::vector<Option> options = UpOptions();
  std::erase_if(options, [](const Option& option) { return option.name == "agents"; });
  return {
      {{"deploy", "local", "master-up"},
       "Start or restart only the master of the local cluster",
       {},
       options,
       RunMasterUp,
       "`det deploy local up` also starts agents; `det deploy local agent-up` adds one agent."},
      {{"deploy", "local", "master-down"},
       "Stop only the master and its PostgreSQL; tasks keep running",
       {},
       {kDataDir},
       RunMasterDown,
       ""},
      {{"deploy", "local", "agent-up"},
       "Add an agent to the local cluster",
       {{"MASTER_HOST", "Host of the master; only localhost is supported", /*optional=*/true}},
       {kDataDir,
        {"agent-name", 0, "NAME", "Agent name (default: the next of agent-0, agent-1, ...)"},
        {"slots", 0, "N", "Slots of each agent; only for the first agent"},
        {"gpu", 0, "", "Offer GPUs of this machine (default: as the other agents)"},
        {"no-gpu", 0, "", "Offer CPU slots"}},
       RunAgentUp,
       "The agent is part of the cluster from then on: `det deploy local up` restarts it."},
      {{"deploy", "local", "agent-down"},
       "Remove an agent from the local cluster and stop its tasks",
       {},
       {kDataDir,
        {"agent-name", 0, "NAME", "Agent to remove"},
        {"all", 0, "", "Remove all agents"}},
       RunAgentDown,
       "The master reschedules the tasks on other agents."},
  };
}

}  // namespace det::cli
