// det deploy local up|down|status|logs; det deploy backup|restore, which are the master's own and
// run by its program.
#include "cli/commands/deploy.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "base/installation.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/connection.h"
#include "cli/format.h"
#include "cli/json_text.h"
#include "cli/local_cluster.h"
#include "cli/program.h"
#include "cli/table.h"

namespace det::cli {
namespace {

// "admin password: x" by line, as members of an object.
std::string PasswordMembers(const std::string& passwords) {
  std::vector<std::string> members;
  for (const absl::string_view line : absl::StrSplit(passwords, '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(" password: ", 1));
    members.push_back(absl::StrCat(Quoted(parts.first), ":", Quoted(parts.second)));
  }
  return absl::StrJoin(members, ",");
}

std::string UpText(const UpResult& up, absl::Duration took) {
  if (up.started.empty()) return absl::StrCat("already running: ", Summary(up.state), "\n");
  const bool some = up.started.size() < up.state.members.size();
  return absl::StrCat("cluster ", Summary(up.state), "  (",
                      some ? absl::StrCat("started ", absl::StrJoin(up.started, ", "), "; ") : "",
                      absl::StrFormat("%.1f s)\n", absl::ToDoubleSeconds(took)));
}

}  // namespace

const Option kDataDir = {"data-dir", 0, "DIR",
                         "where the cluster keeps everything; else $DET_DATA_DIR, else "
                         "/var/lib/resolute (root) or ~/.local/share/resolute"};

LocalCluster ClusterOf(const Invocation& run) {
  return LocalCluster(run.args.Get("data-dir").value_or(base::GetDefaultDataDir()));
}

absl::StatusOr<std::optional<int>> Given(const Invocation& run, const char* option, int least,
                                         int most) {
  if (!run.args.Has(option)) return std::optional<int>();
  DET_ASSIGN_OR_RETURN(const int value, run.args.GetInt(option, 0, least, most));
  return std::optional<int>(value);
}

std::string Summary(const ClusterState& state) {
  return absl::StrCat(state.url, "  ", Counted(state.agents, "agent"), ", ",
                      Counted(state.agents * state.slots, "slot"));
}

std::string ToJsonText(const LocalCluster& cluster, const ClusterState* state,
                       const std::string& passwords) {
  std::string tasks;
  for (const TaskProcess& task :
       state != nullptr ? cluster.Leftovers(*state) : std::vector<TaskProcess>()) {
    absl::StrAppend(&tasks, tasks.empty() ? "" : ",", "{\"agent\":", Quoted(task.agent),
                    ",\"allocation\":", Quoted(task.allocation), ",\"pid\":", task.process.pid,
                    "}");
  }
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
             "],\"leftovers\":[", tasks, "]", passwords.empty() ? "" : ",\"passwords\":{",
             PasswordMembers(passwords), passwords.empty() ? "" : "}", "}")) +
         "\n";
}

absl::StatusOr<int> UpLocal(Invocation& run, bool alone) {
  ClusterOptions options;
  DET_ASSIGN_OR_RETURN(options.port, Given(run, "port", 1, 65535));
  DET_ASSIGN_OR_RETURN(options.agents, Given(run, "agents", 0, 64));
  DET_ASSIGN_OR_RETURN(options.slots, Given(run, "slots", 0, 1024));
  if (run.args.Has("master-config")) {
    std::error_code error;
    options.master_config =
        std::filesystem::absolute(*run.args.Get("master-config"), error).lexically_normal();
  }
  options.admin_password = run.args.Get("admin-password");
  options.user_password = run.args.Get("user-password");
  options.allow_blank_passwords = run.args.Has("allow-blank-passwords");
  options.tls = run.args.Has("tls");
  LocalCluster cluster = ClusterOf(run);
  if (alone) {
    DET_ASSIGN_OR_RETURN(const std::optional<ClusterState> running, cluster.Running());
    if (!running || !running->AnyAlive()) options.agents = 0;
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
  run.screen->Print(absl::StrCat(UpText(*up, absl::Now() - start), passwords));
  if (!passwords.empty()) run.screen->Note("these passwords are not shown again");
  const bool found_by_default =
      cluster.data_dir() == LocalCluster(base::GetDefaultDataDir()).data_dir();
  run.screen->Hint(!found_by_default       ? absl::StrCat("export DET_MASTER=", up->state.url)
                   : up->state.agents == 0 ? "det deploy local agent-up"
                                           : "det experiment create CONFIG CONTEXT_DIR -f");
  return kExitOk;
}

namespace {

absl::StatusOr<int> RunUp(Invocation& run) { return UpLocal(run, /*alone=*/false); }
absl::StatusOr<int> RunDown(Invocation& run) {
  LocalCluster cluster = ClusterOf(run);
  DET_ASSIGN_OR_RETURN(const std::optional<ClusterState> before, cluster.Running());
  const absl::Status down = cluster.Down(ShowSteps(run));
  run.screen->EndProgress(false);
  DET_RETURN_IF_ERROR(down);
  if (run.json()) {
    run.screen->Print(ToJsonText(cluster, nullptr));
  } else if (!before) {
    run.screen->Print(absl::StrCat("nothing runs in ", cluster.data_dir(), "\n"));
  } else {
    run.screen->Print(absl::StrCat(
        "stopped ", before->url.empty() ? "what was left in " + cluster.data_dir() : before->url,
        "\n"));
  }
  return kExitOk;
}

std::vector<Cell> ProcessRow(const std::string& name, const Process& process,
                             const std::string& log) {
  const bool alive = IsAlive(process);
  return {name,
          absl::StrCat(process.pid),
          alive ? Cell("● running", Paint::kRunning) : Cell("✕ gone", Paint::kFailed),
          alive ? absl::StrCat(Span(absl::Now() - StartedAt(process)), " ago") : "-",
          alive ? Bytes(ResidentBytes(process)) : "-",
          log};
}

absl::StatusOr<int> RunStatus(Invocation& run) {
  const LocalCluster cluster = ClusterOf(run);
  DET_ASSIGN_OR_RETURN(const std::optional<ClusterState> state, cluster.Running());
  if (run.json()) {
    run.screen->Print(ToJsonText(cluster, state ? &*state : nullptr));
    return state && state->AllAlive() ? kExitOk : kExitError;
  }
  if (!state) {
    run.screen->Note(absl::StrCat("nothing runs in ", cluster.data_dir(),
                                  "; start it with `det deploy local up`"));
    return kExitError;
  }
  Table table(
      {{"PROCESS"}, {"PID", true}, {"STATE"}, {"STARTED"}, {"MEMORY", true}, {"LOG", false, true}});
  for (const ClusterMember& member : state->members) {
    table.AddRow(ProcessRow(member.name, member.process, member.log));
  }
  const std::vector<TaskProcess> left = cluster.Leftovers(*state);
  for (const TaskProcess& task : left) {
    table.AddRow(ProcessRow(absl::StrCat("task ", task.allocation), task.process, "-"));
  }
  run.screen->Print(absl::StrCat(state->url, state->url.empty() ? "" : "  ", cluster.data_dir(),
                                 "\n\n", table.Render(run.screen->out())));
  if (state->AllAlive()) return kExitOk;
  run.screen->Note(absl::StrCat(
      left.empty() ? "" : "the tasks have outlived their agent; ",
      "`det deploy local up` starts what is gone, `det deploy local down` stops the rest"));
  return kExitError;
}

absl::StatusOr<int> RunDeployLogs(Invocation& run) {
  if (run.json()) return UsageError("deploy local logs: prints text; there is no --json");
  DET_ASSIGN_OR_RETURN(const int lines, run.args.GetInt("tail", 100, 0, 1'000'000'000));
  const LocalCluster cluster = ClusterOf(run);
  DET_ASSIGN_OR_RETURN(const std::optional<ClusterState> state, cluster.Running());
  const std::string wanted = run.args.Word("PROCESS");
  std::vector<std::string> argv = {"-n", absl::StrCat(lines)};
  if (run.args.Has("follow")) argv.push_back("-F");
  argv.push_back("--");
  std::vector<std::string> names;
  if (state) {
    for (const ClusterMember& member : state->members) {
      names.push_back(member.name);
      if (wanted.empty() || wanted == member.name) argv.push_back(member.log);
    }
  }
  if (argv.back() != "--") {
    DET_RETURN_IF_ERROR(ExecProgram("/usr/bin/tail", argv));
    return kExitError;
  }
  return absl::NotFoundError(names.empty() ? absl::StrCat("nothing runs in ", cluster.data_dir(),
                                                          "; start it with `det deploy local up`")
                                           : absl::StrCat("there is no process \"", wanted,
                                                          "\", but ", absl::StrJoin(names, ", ")));
}

absl::StatusOr<int> HandOver(const Invocation& run, const std::string& command) {
  if (run.json()) {
    return UsageError(absl::StrCat("deploy ", command, ": prints text; there is no --json"));
  }
  DET_ASSIGN_OR_RETURN(const std::string master, FindProgram("master", "resolute-master"));
  std::vector<std::string> argv = {command, "--data-dir", ClusterOf(run).data_dir()};
  if (run.args.Has("replace")) argv.push_back("--replace");
  argv.push_back("--");
  argv.push_back(run.args.Word("FILE"));
  DET_RETURN_IF_ERROR(ExecProgram(master, argv));
  return kExitError;
}

absl::StatusOr<int> RunBackup(Invocation& run) { return HandOver(run, "backup"); }
absl::StatusOr<int> RunRestore(Invocation& run) { return HandOver(run, "restore"); }

}  // namespace

const std::vector<Option>& UpOptions() {
  static const auto& up = *new std::vector<Option>{
      kDataDir,
      {"port", 0, "P", "the master's port (8080, with --tls 8443)"},
      {"tls", 0, "",
       "speak TLS, by an authority of the cluster's own; agents must show its certificates"},
      {"agents", 0, "N", "number of agents (1)"},
      {"slots", 0, "N", "slots of each agent (the number of cores)"},
      {"master-config", 0, "FILE", "the master's configuration, such as resource pools and quotas"},
      {"admin-password", 0, "P", "password of the user admin; without, its first one is made"},
      {"user-password", 0, "P", "password of the user determined; the same"},
      {"allow-blank-passwords", 0, "",
       "let users have empty passwords, those two at first; for a machine that nobody else "
       "reaches"}};
  return up;
}

std::vector<Command> DeployCommands() {
  const std::vector<Option>& up = UpOptions();
  const char* const up_notes =
      "Returns when the master answers and the agents are registered. What runs already is left "
      "as it is; to run it with other options, stop it first with `det deploy local down`. What "
      "was not stopped so, as the machine went down, starts with the options that it had.\n"
      "Port and data directory are this command's, whatever the file says of them.\n"
      "Passwords that are made are printed this once. On this machine `det` needs none.\n"
      "With --tls, `det` trusts the cluster from here; elsewhere give it tls/ca.crt of the data "
      "directory in DET_MASTER_CERT_FILE.";
  const std::string exits = "Exit code 0 only if every process of the cluster runs.";
  std::vector<Command> commands = {
      {{"deploy", "local", "up"},
       "start a cluster on this machine: a master with its own PostgreSQL, and agents",
       {},
       up,
       RunUp,
       up_notes},
      {{"deploy", "local", "down"},
       "stop what `deploy local up` started, PostgreSQL included; the data stay",
       {},
       {kDataDir},
       RunDown,
       ""},
      {{"deploy", "local", "cluster-up"}, "the same as `deploy local up`", {}, up, RunUp, up_notes},
      {{"deploy", "local", "cluster-down"},
       "the same as `deploy local down`",
       {},
       {kDataDir},
       RunDown,
       ""},
      {{"deploy", "local", "logs"},
       "print the end of what the processes of the local cluster log",
       {{"PROCESS", "of this one alone, as `deploy local status` names it", /*optional=*/true}},
       {kDataDir,
        {"tail", 0, "N", "the last N lines of each (100)"},
        {"follow", 'f', "", "go on until Ctrl-C"}},
       RunDeployLogs,
       ""},
      {{"deploy", "local", "status"},
       "show the processes of the local cluster",
       {},
       {kDataDir},
       RunStatus,
       exits},
      {{"deploy", "backup"},
       "write the database and the tokens of a local cluster into one file, also while it runs",
       {{"FILE", "written whole or not at all"}},
       {kDataDir},
       RunBackup,
       "Checkpoints are files of their own, and not in it: docs/backup.md."},
      {{"deploy", "restore"},
       "make a local cluster from such a file; it says what it holds first",
       {{"FILE", "what `deploy backup` wrote"}},
       {kDataDir, {"replace", 0, "", "even if there is a cluster, which is then lost"}},
       RunRestore,
       "The cluster must not run. Start it with `det deploy local up` then."},
  };
  const std::vector<Command> parts = DeployPartCommands();
  commands.insert(commands.begin() + 4, parts.begin(), parts.end());
  return commands;
}

}  // namespace det::cli
