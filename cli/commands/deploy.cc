// det deploy local up|down|status|logs; det deploy backup|restore, which are run by the program of
// the master.
#include "cli/commands/deploy.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/installation.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/connection.h"
#include "cli/format.h"
#include "cli/json_text.h"
#include "cli/local_cluster.h"
#include "cli/program.h"
#include "cli/table.h"
#include "cli/trial_python.h"

namespace det::cli {
namespace {

// Converts lines "admin password: x" to members of a JSON object.
std::string PasswordMembers(const std::string& passwords) {
  std::vector<std::string> members;
  for (const absl::string_view line : absl::StrSplit(passwords, '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(" password: ", 1));
    members.push_back(absl::StrCat(QuoteJson(parts.first), ":", QuoteJson(parts.second)));
  }
  return absl::StrJoin(members, ",");
}

std::string UpText(const UpResult& up, absl::Duration took) {
  if (up.started.empty()) return absl::StrCat("already running: ", FormatSummary(up.state), "\n");
  return absl::StrCat(
      "cluster ", FormatSummary(up.state), "  (",
      up.repaired ? absl::StrCat("started ", absl::StrJoin(up.started, ", "), "; ") : "",
      absl::StrFormat("%.1f s)\n", absl::ToDoubleSeconds(took)), FormatChosenSlots(up));
}

}  // namespace

void PrintTrialPython(const Invocation& run) {
  const absl::StatusOr<std::string> python = DescribeTrialPython();
  if (python.ok()) {
    run.screen->Print(absl::StrCat("Trial classes in Python: ", *python, "\n"));
  } else if (absl::IsDeadlineExceeded(python.status())) {
    run.screen->PrintNotice(absl::StrCat("Trial classes in Python: ", python.status().message()));
  } else {
    run.screen->PrintNotice(
        absl::StrCat("Trial classes in Python cannot run here: ", python.status().message()));
  }
}

const Option kDataDir = {"data-dir", 0, "DIR",
                         "Data directory (default: $DET_DATA_DIR, else by user)"};

LocalCluster OpenCluster(const Invocation& run) {
  return LocalCluster(run.args.Get("data-dir").value_or(base::GetDefaultDataDir()));
}

absl::StatusOr<std::optional<int>> ReadOptionalInt(const Invocation& run, const char* option,
                                                   int min, int max) {
  if (!run.args.Has(option)) return std::optional<int>();
  DET_ASSIGN_OR_RETURN(const int value, run.args.GetInt(option, 0, min, max));
  return std::optional<int>(value);
}

absl::StatusOr<std::optional<bool>> ReadGpuOption(const Invocation& run) {
  if (run.args.Has("gpu") && run.args.Has("no-gpu")) {
    return UsageError("--gpu and --no-gpu exclude each other; use one of them");
  }
  if (run.args.Has("gpu")) return std::optional<bool>(true);
  if (run.args.Has("no-gpu")) return std::optional<bool>(false);
  return std::optional<bool>();
}

std::string FormatChosenSlots(const UpResult& up) {
  return up.slots.empty() ? "" : absl::StrCat("slots: ", up.slots, "\n");
}

std::string FormatSummary(const ClusterState& state) {
  return absl::StrCat(state.url, "  ", FormatCount(state.agents, "agent"), ", ",
                      FormatCount(state.agents * state.slots, "slot"));
}

std::string ToJsonText(const LocalCluster& cluster, const ClusterState* state,
                       const std::string& passwords) {
  std::string tasks;
  for (const TaskProcess& task :
       state != nullptr ? cluster.FindOrphanedTasks(*state) : std::vector<TaskProcess>()) {
    absl::StrAppend(&tasks, tasks.empty() ? "" : ",", "{\"agent\":", QuoteJson(task.agent),
                    ",\"allocation\":", QuoteJson(task.allocation), ",\"pid\":", task.process.pid,
                    "}");
  }
  std::string members;
  for (size_t i = 0; state != nullptr && i < state->members.size(); ++i) {
    const ClusterMember& member = state->members[i];
    absl::StrAppend(&members, i > 0 ? "," : "", "{\"name\":", QuoteJson(member.name),
                    ",\"pid\":", member.process.pid,
                    ",\"alive\":", IsAlive(member.process) ? "true" : "false",
                    ",\"log\":", QuoteJson(member.log), "}");
  }
  return IndentJson(absl::StrCat(
             "{\"running\":", state != nullptr && state->AllAlive() ? "true" : "false",
             ",\"url\":", QuoteJson(state != nullptr ? state->url : ""), ",\"dataDir\":",
             QuoteJson(cluster.data_dir()), ",\"agents\":", state != nullptr ? state->agents : 0,
             ",\"slotsPerAgent\":", state != nullptr ? state->slots : 0,
             ",\"gpu\":", state != nullptr && state->gpu ? "true" : "false", ",\"members\":[",
             members, "],\"leftovers\":[", tasks, "]", passwords.empty() ? "" : ",\"passwords\":{",
             PasswordMembers(passwords), passwords.empty() ? "" : "}", "}")) +
         "\n";
}

absl::StatusOr<int> UpLocal(Invocation& run, bool alone) {
  ClusterOptions options;
  DET_ASSIGN_OR_RETURN(options.port, ReadOptionalInt(run, "port", 1, 65535));
  DET_ASSIGN_OR_RETURN(options.agents, ReadOptionalInt(run, "agents", 0, 64));
  DET_ASSIGN_OR_RETURN(options.slots, ReadOptionalInt(run, "slots", 0, 1024));
  DET_ASSIGN_OR_RETURN(options.gpu, ReadGpuOption(run));
  if (run.args.Has("master-config")) {
    std::error_code error;
    options.master_config =
        std::filesystem::absolute(*run.args.Get("master-config"), error).lexically_normal();
  }
  options.admin_password = run.args.Get("admin-password");
  options.user_password = run.args.Get("user-password");
  if (const auto both = run.args.Get("initial-user-password")) {
    if (!options.admin_password) options.admin_password = both;
    if (!options.user_password) options.user_password = both;
  }
  options.allow_blank_passwords = run.args.Has("allow-blank-passwords");
  options.tls = run.args.Has("tls");
  LocalCluster cluster = OpenCluster(run);
  if (alone) {
    DET_ASSIGN_OR_RETURN(const std::optional<ClusterState> running, cluster.Running());
    if (!running || !cluster.IsRepairable(*running)) options.agents = 0;
  }
  const absl::Time start = absl::Now();
  const absl::StatusOr<UpResult> up = cluster.Up(options, ShowSteps(run));
  run.screen->EndProgress(/*keep=*/false);
  DET_RETURN_IF_ERROR(up);
  DET_ASSIGN_OR_RETURN(const std::string passwords, cluster.TakePasswords());
  if (run.json()) {
    run.screen->Print(ToJsonText(cluster, &up->state, passwords));
    return kExitOk;
  }
  run.screen->Print(UpText(*up, absl::Now() - start));
  // Passwords are printed before anything that can take long or be interrupted.
  run.screen->Print(passwords);
  if (!passwords.empty()) run.screen->PrintNotice("these passwords are not shown again");
  if (!up->started.empty() && up->state.agents > 0) PrintTrialPython(run);
  const bool found_by_default =
      cluster.data_dir() == LocalCluster(base::GetDefaultDataDir()).data_dir();
  run.screen->PrintHint(!found_by_default       ? absl::StrCat("export DET_MASTER=", up->state.url)
                        : up->state.agents == 0 ? "det deploy local agent-up"
                                                : "det experiment create CONFIG CONTEXT_DIR -f");
  return kExitOk;
}

namespace {

absl::StatusOr<int> RunUp(Invocation& run) { return UpLocal(run, /*alone=*/false); }
absl::StatusOr<int> RunDown(Invocation& run) {
  LocalCluster cluster = OpenCluster(run);
  DET_ASSIGN_OR_RETURN(const std::optional<ClusterState> before, cluster.Running());
  const absl::Status down = cluster.Down(ShowSteps(run));
  run.screen->EndProgress(false);
  DET_RETURN_IF_ERROR(down);
  if (run.json()) {
    run.screen->Print(ToJsonText(cluster, nullptr));
  } else if (!before) {
    run.screen->Print(absl::StrCat("no cluster is running in ", cluster.data_dir(), "\n"));
  } else {
    run.screen->Print(absl::StrCat(
        "stopped ", before->url.empty() ? "processes left in " + cluster.data_dir() : before->url,
        "\n"));
  }
  return kExitOk;
}

std::vector<Cell> ProcessRow(const std::string& name, const Process& process,
                             const std::string& log) {
  const bool alive = IsAlive(process);
  return {name,
          absl::StrCat(process.pid),
          alive ? Cell("● running", Paint::kRunning) : Cell("✕ exited", Paint::kFailed),
          alive ? absl::StrCat(FormatSpan(absl::Now() - StartedAt(process)), " ago") : "-",
          alive ? FormatBytes(ResidentBytes(process)) : "-",
          log};
}

absl::StatusOr<int> RunStatus(Invocation& run) {
  const LocalCluster cluster = OpenCluster(run);
  DET_ASSIGN_OR_RETURN(const std::optional<ClusterState> state, cluster.Running());
  if (run.json()) {
    run.screen->Print(ToJsonText(cluster, state ? &*state : nullptr));
    return state && state->AllAlive() ? kExitOk : kExitError;
  }
  if (!state) {
    run.screen->PrintNotice(absl::StrCat("no cluster is running in ", cluster.data_dir(),
                                         "; start it with `det deploy local up`"));
    return kExitError;
  }
  Table table(
      {{"PROCESS"}, {"PID", true}, {"STATE"}, {"STARTED"}, {"MEMORY", true}, {"LOG", false, true}});
  for (const ClusterMember& member : state->members) {
    table.AddRow(ProcessRow(member.name, member.process, member.log));
  }
  const std::vector<TaskProcess> left = cluster.FindOrphanedTasks(*state);
  for (const TaskProcess& task : left) {
    table.AddRow(ProcessRow(absl::StrCat("task ", task.allocation), task.process, "-"));
  }
  run.screen->Print(absl::StrCat(state->url, state->url.empty() ? "" : "  ", cluster.data_dir(),
                                 "\n\n", table.Render(run.screen->out())));
  if (state->AllAlive()) return kExitOk;
  run.screen->PrintNotice(absl::StrCat(
      left.empty() ? "" : "tasks are still running without their agent; ",
      "`det deploy local up` restarts missing processes, `det deploy local down` stops all"));
  return kExitError;
}

absl::StatusOr<int> RunDeployLogs(Invocation& run) {
  if (run.json()) return UsageError("deploy local logs: --json is not supported");
  DET_ASSIGN_OR_RETURN(const int lines, run.args.GetInt("tail", 100, 0, 1'000'000'000));
  const LocalCluster cluster = OpenCluster(run);
  DET_ASSIGN_OR_RETURN(const std::optional<ClusterState> state, cluster.Running());
  const std::string name = run.args.Word("PROCESS");
  std::vector<std::string> argv = {"-n", absl::StrCat(lines)};
  if (run.args.Has("follow")) argv.push_back("-F");
  argv.push_back("--");
  std::vector<std::string> names;
  if (state) {
    for (const ClusterMember& member : state->members) {
      names.push_back(member.name);
      if (name.empty() || name == member.name) argv.push_back(member.log);
    }
  }
  if (argv.back() != "--") {
    DET_RETURN_IF_ERROR(ExecProgram("/usr/bin/tail", argv));
    return kExitError;
  }
  return absl::NotFoundError(names.empty()
                                 ? absl::StrCat("no cluster is running in ", cluster.data_dir(),
                                                "; start it with `det deploy local up`")
                                 : absl::StrCat("no process \"", name, "\" in the cluster; it has ",
                                                absl::StrJoin(names, ", ")));
}

absl::StatusOr<int> ExecMaster(const Invocation& run, const std::string& command) {
  if (run.json()) {
    return UsageError(absl::StrCat("deploy ", command, ": --json is not supported"));
  }
  DET_ASSIGN_OR_RETURN(const std::string master, FindProgram("master", "resolute-master"));
  std::vector<std::string> argv = {command, "--data-dir", OpenCluster(run).data_dir()};
  if (run.args.Has("replace")) argv.push_back("--replace");
  argv.push_back("--");
  argv.push_back(run.args.Word("FILE"));
  DET_RETURN_IF_ERROR(ExecProgram(master, argv));
  return kExitError;
}

absl::StatusOr<int> RunBackup(Invocation& run) { return ExecMaster(run, "backup"); }
absl::StatusOr<int> RunRestore(Invocation& run) { return ExecMaster(run, "restore"); }

}  // namespace

const std::vector<Option>& UpOptions() {
  static const auto& up = *new std::vector<Option>{
      kDataDir,
      {"port", 0, "P", "Port of the master (default: 8080; with --tls 8443)"},
      {"tls", 0, "", "Use TLS with a certificate authority of this cluster"},
      {"agents", 0, "N", "Number of agents (default: 1)"},
      {"slots", 0, "N", "Slots per agent (default: its GPUs, else the CPU cores)"},
      {"gpu", 0, "", "Offer the GPUs of this machine (default: if it has some)"},
      {"no-gpu", 0, "", "Offer CPU slots, also on a machine with GPUs"},
      {"master-config", 0, "FILE", "Master config file"},
      {"admin-password", 0, "P", "Password of user admin (default: generated)"},
      {"user-password", 0, "P", "Password of user determined (default: generated)"},
      {"initial-user-password", 0, "P", "Password of both users"},
      {"allow-blank-passwords", 0, "",
       "Allow empty passwords; only for a machine that others cannot reach"}};
  return up;
}

std::vector<Command> DeployCommands() {
  const std::vector<Option>& up = UpOptions();
  const char* const up_notes =
      "Returns when the master is ready and all agents are registered. Processes that are already "
      "running are left unchanged; to change their options, run `det deploy local down` first. "
      "After a reboot the cluster starts with its previous options.\nSeveral agents share the GPUs "
      "of this machine equally; --slots limits how many each offers. CUDA_VISIBLE_DEVICES limits "
      "which of them are used. With more --slots than GPUs and without --gpu, CPU slots are "
      "used.\n--port and --data-dir take precedence over the config file.\nThe default data "
      "directory is $DET_DATA_DIR, else "
      "/var/lib/resolute for root and ~/.local/share/resolute for others.\nGenerated passwords are "
      "printed once. `det` needs no password on this machine.\nWith --tls, agents must present "
      "certificates of the cluster. `det` on this machine trusts the cluster; elsewhere set "
      "DET_MASTER_CERT_FILE to a copy of tls/ca.crt from the data directory.";
  const std::string exits = "The exit code is 0 only if all processes of the cluster are running.";
  std::vector<Command> commands = {
      {{"deploy", "local", "up"},
       "Start a local cluster: a master with PostgreSQL, and agents",
       {},
       up,
       RunUp,
       up_notes},
      {{"deploy", "local", "down"},
       "Stop the local cluster and its PostgreSQL; keep its data",
       {},
       {kDataDir},
       RunDown,
       ""},
      {{"deploy", "local", "cluster-up"},
       "Start a local cluster; same as `deploy local up`",
       {},
       up,
       RunUp,
       up_notes},
      {{"deploy", "local", "cluster-down"},
       "Stop the local cluster; same as `deploy local down`",
       {},
       {kDataDir},
       RunDown,
       ""},
      {{"deploy", "local", "logs"},
       "Show recent logs of the local cluster",
       {{"PROCESS", "Only this process, as named by `deploy local status`", /*optional=*/true}},
       {kDataDir,
        {"tail", 0, "N", "Number of lines per process (default: 100)"},
        {"follow", 'f', "", "Follow the logs until Ctrl-C"}},
       RunDeployLogs,
       ""},
      {{"deploy", "local", "status"},
       "Show the processes of the local cluster",
       {},
       {kDataDir},
       RunStatus,
       exits},
      {{"deploy", "backup"},
       "Back up the database and tokens of a local cluster to a file",
       {{"FILE", "Backup file to write"}},
       {kDataDir},
       RunBackup,
       "The cluster can keep running. The file is written completely or not at all. Checkpoint "
       "files are not included: see docs/backup.md."},
      {{"deploy", "restore"},
       "Restore a local cluster from a backup file",
       {{"FILE", "Backup file from `deploy backup`"}},
       {kDataDir, {"replace", 0, "", "Replace an existing cluster; its data is lost"}},
       RunRestore,
       "The content of the backup is printed first. Stop the cluster first. Start it with `det "
       "deploy local up` afterwards."},
  };
  const std::vector<Command> parts = DeployMemberCommands();
  commands.insert(commands.begin() + 4, parts.begin(), parts.end());
  return commands;
}

}  // namespace det::cli
