// det deploy local up|down|status
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/install.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/connection.h"
#include "cli/format.h"
#include "cli/json_text.h"
#include "cli/local_cluster.h"
#include "cli/table.h"

namespace det::cli {
namespace {

const Option kDataDir = {"data-dir", 0, "DIR",
                         "where the cluster keeps everything; else $DET_DATA_DIR, else "
                         "/var/lib/resolute (root) or ~/.local/share/resolute"};

LocalCluster ClusterOf(const Invocation& run) {
  return LocalCluster(run.args.Get("data-dir").value_or(base::DefaultDataDir()));
}

std::string ToJsonText(const LocalCluster& cluster, const ClusterState* state) {
  std::string members;
  for (size_t i = 0; state != nullptr && i < state->members.size(); ++i) {
    const ClusterMember& member = state->members[i];
    absl::StrAppend(&members, i > 0 ? "," : "", "{\"name\":", Quoted(member.name),
                    ",\"pid\":", member.process.pid,
                    ",\"alive\":", IsAlive(member.process) ? "true" : "false",
                    ",\"log\":", Quoted(member.log), "}");
  }
  return Indented(absl::StrCat(
             "{\"running\":", state != nullptr && state->AllAlive() ? "true" : "false",
             ",\"url\":", Quoted(state != nullptr ? state->url : ""), ",\"dataDir\":",
             Quoted(cluster.data_dir()), ",\"agents\":", state != nullptr ? state->agents : 0,
             ",\"slotsPerAgent\":", state != nullptr ? state->slots : 0, ",\"members\":[", members,
             "]}")) +
         "\n";
}

absl::StatusOr<int> RunUp(Invocation& run) {
  ClusterOptions options;
  DET_ASSIGN_OR_RETURN(options.port, run.args.GetInt("port", 8080, 1, 65535));
  DET_ASSIGN_OR_RETURN(options.agents, run.args.GetInt("agents", 1, 0, 64));
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  DET_ASSIGN_OR_RETURN(options.slots, run.args.GetInt("slots", cores, 0, 1024));
  LocalCluster cluster = ClusterOf(run);
  DET_ASSIGN_OR_RETURN(const std::optional<ClusterState> before, cluster.Running());
  const bool already = before && before->AllAlive();
  const absl::Time start = absl::Now();
  const absl::StatusOr<ClusterState> state = cluster.Up(options, [&](const std::string& step) {
    if (run.screen->err().in_place) run.screen->Progress(step);
  });
  run.screen->EndProgress(/*keep=*/false);
  DET_RETURN_IF_ERROR(state);
  if (run.json()) {
    run.screen->Print(ToJsonText(cluster, &*state));
    return kExitOk;
  }
  run.screen->Print(absl::StrCat(
      already ? "already running: " : "cluster ", state->url, "  ", state->agents,
      state->agents == 1 ? " agent, " : " agents, ", state->agents * state->slots, " slots",
      already ? "" : absl::StrCat("  (", Number(absl::ToDoubleSeconds(absl::Now() - start)), " s)"),
      "\n"));
  const bool found_by_default =
      cluster.data_dir() == LocalCluster(base::DefaultDataDir()).data_dir();
  run.screen->Hint(found_by_default ? "det experiment create CONFIG CONTEXT_DIR -f"
                                    : absl::StrCat("export DET_MASTER=", state->url));
  return kExitOk;
}

absl::StatusOr<int> RunDown(Invocation& run) {
  LocalCluster cluster = ClusterOf(run);
  DET_ASSIGN_OR_RETURN(const std::optional<ClusterState> before, cluster.Running());
  const absl::Status down = cluster.Down([&](const std::string& step) {
    if (run.screen->err().in_place) run.screen->Progress(step);
  });
  run.screen->EndProgress(false);
  DET_RETURN_IF_ERROR(down);
  if (run.json()) {
    run.screen->Print(ToJsonText(cluster, nullptr));
  } else {
    run.screen->Print(before ? absl::StrCat("stopped ", before->url, "\n")
                             : absl::StrCat("nothing runs in ", cluster.data_dir(), "\n"));
  }
  return kExitOk;
}

absl::StatusOr<int> RunStatus(Invocation& run) {
  const LocalCluster cluster = ClusterOf(run);
  DET_ASSIGN_OR_RETURN(const std::optional<ClusterState> state, cluster.Running());
  if (run.json()) {
    run.screen->Print(ToJsonText(cluster, state ? &*state : nullptr));
    return state ? kExitOk : kExitError;
  }
  if (!state) {
    run.screen->Note(absl::StrCat("nothing runs in ", cluster.data_dir(),
                                  "; start it with `det deploy local up`"));
    return kExitError;
  }
  Table table(
      {{"PROCESS"}, {"PID", true}, {"STATE"}, {"STARTED"}, {"MEMORY", true}, {"LOG", false, true}});
  for (const ClusterMember& member : state->members) {
    const bool alive = IsAlive(member.process);
    table.AddRow({member.name, absl::StrCat(member.process.pid),
                  alive ? Cell("● running", Paint::kRunning) : Cell("✕ gone", Paint::kFailed),
                  alive ? absl::StrCat(Span(absl::Now() - StartedAt(member.process)), " ago") : "-",
                  alive ? Bytes(ResidentBytes(member.process)) : "-", member.log});
  }
  run.screen->Print(
      absl::StrCat(state->url, "  ", cluster.data_dir(), "\n\n", table.Render(run.screen->out())));
  return state->AllAlive() ? kExitOk : kExitError;
}

}  // namespace

std::vector<Command> DeployCommands() {
  const std::string exits = "Exit code 0 only if every process of the cluster runs.";
  return {
      {{"deploy", "local", "up"},
       "start a cluster on this machine: a master with its own PostgreSQL, and agents",
       {},
       {kDataDir,
        {"port", 0, "P", "the master's port (8080)"},
        {"agents", 0, "N", "number of agents (1)"},
        {"slots", 0, "N", "slots of each agent (the number of cores)"}},
       RunUp,
       "Returns when the master answers and the agents are registered. What runs already is left "
       "as it is."},
      {{"deploy", "local", "down"},
       "stop what `deploy local up` started, PostgreSQL included; the data stay",
       {},
       {kDataDir},
       RunDown,
       ""},
      {{"deploy", "local", "status"},
       "show the processes of the local cluster",
       {},
       {kDataDir},
       RunStatus,
       exits},
  };
}

}  // namespace det::cli
