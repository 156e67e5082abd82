// det deploy local master-up|master-down|agent-up|agent-down
#include <unistd.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "cli/commands/deploy.h"

namespace det::cli {
namespace {

// `text`, or what runs now as JSON.
absl::StatusOr<int> SayLeft(Invocation& run, const LocalCluster& cluster, const std::string& text) {
  DET_ASSIGN_OR_RETURN(const std::optional<ClusterState> state, cluster.Running());
  run.screen->Print(run.json() ? ToJsonText(cluster, state ? &*state : nullptr) : text);
  return kExitOk;
}

absl::StatusOr<int> RunMasterUp(Invocation& run) { return UpLocal(run, /*alone=*/true); }

// The names by which this machine's own master may be called.
absl::Status CheckIsHere(const std::string& host) {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  const std::set<std::string> here = {"", "localhost", "127.0.0.1", "::1", name};
  if (here.contains(host)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the master on ", host,
                   " is not of this cluster; an agent for it is started with "
                   "`resolute-agent --master http://",
                   host,
                   ":8080 --token-file FILE`, FILE being a copy of "
                   "agent.token in its data directory"));
}

absl::StatusOr<int> RunAgentUp(Invocation& run) {
  DET_RETURN_IF_ERROR(CheckIsHere(run.args.Word("MASTER_HOST")));
  DET_ASSIGN_OR_RETURN(const std::optional<int> slots, Given(run, "slots", 0, 1024));
  LocalCluster cluster = ClusterOf(run);
  const absl::StatusOr<UpResult> up =
      cluster.AddAgent(run.args.Get("agent-name").value_or(""), slots, ShowSteps(run));
  run.screen->EndProgress(/*keep=*/false);
  DET_RETURN_IF_ERROR(up);
  if (run.json()) {
    run.screen->Print(ToJsonText(cluster, &up->state));
  } else if (up->started.empty()) {
    run.screen->Print(absl::StrCat("already running: ", Summary(up->state), "\n"));
  } else {
    run.screen->Print(
        absl::StrCat("started ", absl::StrJoin(up->started, ", "), ": ", Summary(up->state), "\n"));
  }
  return kExitOk;
}

absl::StatusOr<int> RunAgentDown(Invocation& run) {
  if (run.args.Has("all") == run.args.Has("agent-name")) {
    return UsageError("which agent? --agent-name AGENT, or --all");
  }
  LocalCluster cluster = ClusterOf(run);
  const auto stopped = cluster.RemoveAgents(run.args.Get("agent-name"), ShowSteps(run));
  run.screen->EndProgress(/*keep=*/false);
  DET_RETURN_IF_ERROR(stopped);
  return SayLeft(run, cluster,
                 stopped->empty() ? absl::StrCat("no agent runs in ", cluster.data_dir(), "\n")
                                  : absl::StrCat("stopped ", absl::StrJoin(*stopped, ", "), "\n"));
}

absl::StatusOr<int> RunMasterDown(Invocation& run) {
  LocalCluster cluster = ClusterOf(run);
  const absl::StatusOr<bool> stopped = cluster.MasterDown(ShowSteps(run));
  run.screen->EndProgress(/*keep=*/false);
  DET_RETURN_IF_ERROR(stopped);
  return SayLeft(run, cluster,
                 *stopped ? "stopped the master\n"
                          : absl::StrCat("no master runs in ", cluster.data_dir(), "\n"));
}

}  // namespace

std::vector<Command> DeployPartCommands() {
  std::vector<Option> options = UpOptions();
  std::erase_if(options, [](const Option& option) { return option.name == "agents"; });
  return {
      {{"deploy", "local", "master-up"},
       "start a master alone, or again where its agents wait for it",
       {},
       options,
       RunMasterUp,
       "With agents it is `det deploy local up`; `det deploy local agent-up` starts one more."},
      {{"deploy", "local", "master-down"},
       "stop the master and its PostgreSQL; agents and their tasks go on, and wait for it",
       {},
       {kDataDir},
       RunMasterDown,
       ""},
      {{"deploy", "local", "agent-up"},
       "start one more agent of the local cluster",
       {{"MASTER_HOST", "localhost, as existing scripts say it", /*optional=*/true}},
       {kDataDir,
        {"agent-name", 0, "NAME", "its name (the next of agent-0, agent-1, ...)"},
        {"slots", 0, "N", "slots of each agent, where it is the first one"}},
       RunAgentUp,
       "The cluster has it from then on: `det deploy local up` starts it again."},
      {{"deploy", "local", "agent-down"},
       "stop an agent of the local cluster and its tasks",
       {},
       {kDataDir, {"agent-name", 0, "NAME", "this one"}, {"all", 0, "", "all of them"}},
       RunAgentDown,
       "The cluster is without it from then on. The master starts its tasks elsewhere."},
  };
}

}  // namespace det::cli
