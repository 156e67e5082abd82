// det shell start|open|show-ssh-command|ssh-config, and the verbs that all kinds of tasks share
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/task_kind.h"
#include "cli/program.h"
#include "cli/ssh.h"
#include "cli/task_readiness.h"
#include "cli/token_cache.h"
#include "det/api/v1/auth.pb.h"
#include "det/api/v1/command.pb.h"

namespace det::cli {
namespace {

constexpr TaskKind kShell = {"shell", "Shell", "SHELL"};

const Option kShowSshCommand = {"show-ssh-command", 0, "",
                                "Print the ssh command before it is run, and keep the key"};
const Positional kSshWords = {"SSH_ARGUMENT", "Options of ssh, and a command to run", true, true,
                              true};

// Returns the command that connects ssh to a shell: this program, with the certificates that the
// environment names.
absl::StatusOr<std::string> MakeShellProxyCommand(const ApiClient& api) {
  DET_ASSIGN_OR_RETURN(const std::string det, GetOwnPath());
  std::vector<std::string> words = {det, "tunnel"};
  if (const std::string file = GetEnv("DET_MASTER_CERT_FILE"); !file.empty()) {
    words.insert(
        words.end(),
        {"--cert-file", file == "noverify" ? file : std::filesystem::absolute(file).string()});
  }
  if (const std::string name = GetEnv("DET_MASTER_CERT_NAME"); !name.empty()) {
    words.insert(words.end(), {"--cert-name", name});
  }
  words.push_back(api.addresses());
  return MakeProxyCommand(words);
}

absl::StatusOr<api::v1::Shell> GetShell(const ApiClient& api, const std::string& id) {
  api::v1::CommandRequest request;
  request.set_id(id);
  api::v1::GetShellResponse response;
  DET_RETURN_IF_ERROR(api.Call("CommandService.GetShell", request, &response));
  return response.shell();
}

// Writes the files of the shell and returns how to reach it.
absl::StatusOr<SshHost> PrepareHost(const ApiClient& api, const api::v1::Shell& shell,
                                    const std::string& folder) {
  DET_RETURN_IF_ERROR(WriteSshFiles(folder, shell.id(), shell.private_key(), shell.public_key()));
  SshHost host = {shell.id(), "root", folder, ""};
  const auto& group = shell.agent_user_group().fields();
  if (const auto user = group.find("user"); user != group.end()) {
    if (!user->second.string_value().empty()) host.user = user->second.string_value();
  }
  DET_ASSIGN_OR_RETURN(host.proxy_command, MakeShellProxyCommand(api));
  return host;
}

// Connects to the shell and returns the exit code of ssh.
absl::StatusOr<int> Connect(Invocation& run, const ApiClient& api, const std::string& id) {
  DET_RETURN_IF_ERROR(WaitUntilReady(api, kShell.name, id, run.screen));
  DET_ASSIGN_OR_RETURN(const api::v1::Shell shell, GetShell(api, id));
  DET_ASSIGN_OR_RETURN(const base::TempDir temporary, base::TempDir::Create("det-shell"));
  const bool shown = run.args.Has("show-ssh-command");
  DET_ASSIGN_OR_RETURN(const SshHost host,
                       PrepareHost(api, shell, shown ? GetSshFolder(id) : temporary.path()));
  std::vector<std::string> words = MakeSshCommand(host);
  const std::vector<std::string> more = run.args.Words(kSshWords.name);
  words.insert(words.end(), more.begin(), more.end());
  if (shown) run.screen->Print(absl::StrCat(QuoteShellWords(words), "\n"));
  const absl::StatusOr<int> code = RunForeground(words);
  if (absl::IsNotFound(code.status())) {
    return absl::NotFoundError(
        "cannot find ssh; install a client of OpenSSH (package openssh-client) and run `det shell "
        "open " +
        id + "`");
  }
  if (more.empty()) run.screen->PrintHint(absl::StrCat("det shell open ", id));
  return code;
}

absl::StatusOr<int> RunShellStart(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const api::v1::LaunchCommandRequest request, MakeLaunchRequest(run, *api));
  DET_ASSIGN_OR_RETURN(const LaunchedTask launched, LaunchTask(run, *api, kShell, request));
  DET_ASSIGN_OR_RETURN(const bool connect, PrintLaunched(run, kShell, launched));
  return connect ? Connect(run, *api, launched.task.id()) : kExitOk;
}

absl::StatusOr<int> RunShellOpen(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const std::string id,
                       CompleteTaskId(*api, kShell, run.args.Word(kShell.positional)));
  return Connect(run, *api, id);
}

absl::StatusOr<int> RunShowSshCommand(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const std::string id,
                       CompleteTaskId(*api, kShell, run.args.Word(kShell.positional)));
  DET_RETURN_IF_ERROR(WaitUntilReady(*api, kShell.name, id, run.screen));
  DET_ASSIGN_OR_RETURN(const api::v1::Shell shell, GetShell(*api, id));
  DET_ASSIGN_OR_RETURN(const SshHost host, PrepareHost(*api, shell, GetSshFolder(id)));
  return run.PrintResult(shell, absl::StrCat(QuoteShellWords(MakeSshCommand(host)), "\n"));
}

// Returns the IDs of the user's shells that have not ended.
absl::StatusOr<std::vector<std::string>> FindLiveShells(const ApiClient& api) {
  api::v1::GetMeResponse me;
  DET_RETURN_IF_ERROR(api.Call("AuthService.GetMe", api::v1::GetMeRequest(), &me));
  api::v1::GetCommandsRequest request;
  request.add_user_ids(me.user().id());
  request.set_sort_by(api::v1::GetCommandsRequest::SORT_BY_START_TIME);
  api::v1::GetShellsResponse response;
  DET_RETURN_IF_ERROR(api.Call("CommandService.GetShells", request, &response));
  std::vector<std::string> ids;
  for (const api::v1::Shell& shell : response.shells()) {
    if (shell.state() != api::v1::Allocation::STATE_TERMINATED) ids.push_back(shell.id());
  }
  return ids;
}

absl::StatusOr<int> RunSshConfig(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  std::vector<std::string> ids;
  for (const std::string& word : run.args.Words(kShell.positional)) {
    DET_ASSIGN_OR_RETURN(ids.emplace_back(), CompleteTaskId(*api, kShell, word));
  }
  if (ids.empty()) {
    DET_ASSIGN_OR_RETURN(ids, FindLiveShells(*api));
  }
  if (ids.empty()) run.screen->PrintNotice("no shells of yours; start one with `det shell start`");
  for (const std::string& id : ids) {
    DET_ASSIGN_OR_RETURN(const api::v1::Shell shell, GetShell(*api, id));
    DET_ASSIGN_OR_RETURN(const SshHost host, PrepareHost(*api, shell, GetSshFolder(id)));
    run.screen->Print(MakeSshConfig(host, shell.description()));
  }
  return kExitOk;
}

}  // namespace

std::vector<Command> ShellCommands() {
  const char kSshHelp[] =
      "The exit code is that of ssh: of the command if one is given, 255 without a connection. The "
      "shell continues to run afterwards; `det shell kill` ends it.";
  std::vector<Option> options = LaunchOptions("Print the ID and do not connect");
  options.push_back(kShowSshCommand);
  std::vector<Command> commands = {
      {{"shell", "start"},
       "Start a shell on the cluster and connect to it with ssh",
       {kSshWords},
       std::move(options),
       RunShellStart,
       absl::StrCat("The shell gets one slot; --config resources.slots=0 requests none.\n",
                    kSshHelp)},
      {{"shell", "open"},
       "Connect to a shell with ssh",
       {OneTask(kShell), kSshWords},
       {kShowSshCommand},
       RunShellOpen,
       kSshHelp},
      {{"shell", "show-ssh-command"},
       "Print an ssh command that connects to a shell",
       {OneTask(kShell)},
       {},
       RunShowSshCommand,
       "The key is stored in ~/.cache/determined/shell; only you can read it."},
      {{"shell", "ssh-config"},
       "Print entries of ~/.ssh/config for shells",
       {{kShell.positional, "IDs or their beginnings (default: your shells)", true, true}},
       {},
       RunSshConfig,
       "Append the output to ~/.ssh/config, or include it there. Then ssh, scp, rsync, VS Code "
       "and PyCharm connect to the host det-XXXXXXXX, where XXXXXXXX begins the ID.\nThe keys are "
       "stored in ~/.cache/determined/shell; only you can read them."},
  };
  for (Command& each : TaskVerbs<kShell>()) commands.push_back(std::move(each));
  return commands;
}

}  // namespace det::cli
