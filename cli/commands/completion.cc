// det completion bash|zsh|fish, and det __complete, which these scripts call
#include "cli/completion.h"

#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/workspace.h"
#include "cli/format.h"
#include "cli/terminal.h"
#include "det/api/v1/agent.pb.h"
#include "det/api/v1/command.pb.h"
#include "det/api/v1/experiment.pb.h"
#include "det/api/v1/model.pb.h"
#include "det/api/v1/resource_pool.pb.h"
#include "det/api/v1/template.pb.h"
#include "det/api/v1/user.pb.h"
#include "det/api/v1/workspace.pb.h"

namespace det::cli {
namespace {

// Maximum time that a shell waits for completions.
constexpr int kTimeoutMicros = 300'000;
constexpr int kMaxExperiments = 50;

constexpr char kBash[] = R"sh(# bash completion of det. In ~/.bashrc: eval "$(det completion bash)"
_det() {
  COMPREPLY=()
  local word _help
  while IFS=$'\t' read -r word _help; do
    printf -v word %q "$word"
    COMPREPLY+=("$word")
  done < <("${COMP_WORDS[0]}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _det det
)sh";

constexpr char kZsh[] = R"sh(#compdef det
# zsh completion of det. In ~/.zshrc, after compinit: eval "$(det completion zsh)"
_det() {
  local -a found shown
  local line
  while IFS= read -r line; do
    found+=("${line%%$'\t'*}")
    shown+=("${line/$'\t'/  }")
  done < <("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( $#found )); then
    compadd -l -d shown -a found
  else
    _files
  fi
}
compdef _det det
)sh";

constexpr char kFish[] = R"sh(# fish completion of det: det completion fish | source
function __det_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l found ($words[1] __complete -- $words[2..-1] $current 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path $current
    end
end
complete -c det -f -a '(__det_complete)'
)sh";

absl::StatusOr<int> RunCompletion(Invocation& run) {
  const std::string shell = run.args.Word("SHELL");
  const char* script = shell == "bash"   ? kBash
                       : shell == "zsh"  ? kZsh
                       : shell == "fish" ? kFish
                                         : nullptr;
  if (script == nullptr) {
    return UsageError(
        absl::StrCat("completion: expected bash, zsh or fish, found \"", shell, "\""));
  }
  run.screen->Print(script);
  return kExitOk;
}

std::vector<Candidate> Experiments(const ApiClient& api) {
  api::v1::GetExperimentsRequest request;
  request.set_sort_by(api::v1::GetExperimentsRequest::SORT_BY_ID);
  request.set_order_by(api::v1::ORDER_BY_DESC);
  request.set_limit(kMaxExperiments);
  request.set_archived(false);
  api::v1::GetExperimentsResponse response;
  if (!api.Call("ExperimentService.GetExperiments", request, &response).ok()) return {};
  std::vector<Candidate> found;
  for (const auto& each : response.experiments()) {
    const std::string state = api::v1::Experiment::State_Name(each.state());
    found.push_back(
        {absl::StrCat(each.id()), absl::StrCat(each.name(), ", ", TrimStatePrefix(state))});
  }
  return found;
}

// Returns the names of the elements of a list.
template <class Request, class Response, class Elements, class Name>
std::vector<Candidate> Names(const ApiClient& api, const char* method, Elements elements,
                             Name name) {
  Response response;
  std::vector<Candidate> found;
  if (!api.Call(method, Request(), &response).ok()) return found;
  for (const auto& each : elements(response)) found.push_back({name(each), ""});
  return found;
}

std::vector<Candidate> Projects(const ApiClient& api, const std::vector<std::string>& before) {
  if (before.empty()) return {};
  const absl::StatusOr<api::v1::Workspace> workspace = FindWorkspace(api, before.back());
  if (!workspace.ok()) return {};
  api::v1::GetWorkspaceProjectsRequest request;
  request.set_id(workspace->id());
  api::v1::GetWorkspaceProjectsResponse response;
  if (!api.Call("WorkspaceService.GetWorkspaceProjects", request, &response).ok()) return {};
  std::vector<Candidate> found;
  for (const auto& each : response.projects()) found.push_back({each.name(), each.description()});
  return found;
}

// Returns the IDs of tasks that live or ended lately, with their descriptions.
template <class Response, class Tasks>
std::vector<Candidate> TaskIds(const ApiClient& api, const char* method, Tasks tasks) {
  Response response;
  std::vector<Candidate> found;
  if (!api.Call(method, api::v1::GetCommandsRequest(), &response).ok()) return found;
  for (const auto& each : tasks(response)) found.push_back({each.id(), each.description()});
  return found;
}

std::vector<Candidate> FetchNames(const ApiClient& api, const std::string& kind,
                                  const std::vector<std::string>& before) {
  namespace v1 = api::v1;
  const auto name = [](const auto& each) { return each.name(); };
  if (kind == "EXPERIMENT") return Experiments(api);
  if (kind == "PROJECT") return Projects(api, before);
  if (kind == "COMMAND") {
    return TaskIds<v1::GetCommandsResponse>(api, "CommandService.GetCommands",
                                            [](const auto& list) { return list.commands(); });
  }
  if (kind == "NOTEBOOK") {
    return TaskIds<v1::GetNotebooksResponse>(api, "CommandService.GetNotebooks",
                                             [](const auto& list) { return list.notebooks(); });
  }
  if (kind == "SHELL") {
    return TaskIds<v1::GetShellsResponse>(api, "CommandService.GetShells",
                                          [](const auto& list) { return list.shells(); });
  }
  if (kind == "TENSORBOARD") {
    return TaskIds<v1::GetTensorboardsResponse>(
        api, "CommandService.GetTensorboards",
        [](const auto& list) { return list.tensorboards(); });
  }
  if (kind == "AGENT") {
    return Names<v1::GetAgentsRequest, v1::GetAgentsResponse>(
        api, "AgentService.GetAgents", [](const auto& list) { return list.agents(); },
        [](const auto& each) { return each.id(); });
  }
  if (kind == "POOL") {
    return Names<v1::GetResourcePoolsRequest, v1::GetResourcePoolsResponse>(
        api, "ResourcePoolService.GetResourcePools",
        [](const auto& list) { return list.resource_pools(); }, name);
  }
  if (kind == "WORKSPACE") {
    return Names<v1::GetWorkspacesRequest, v1::GetWorkspacesResponse>(
        api, "WorkspaceService.GetWorkspaces", [](const auto& list) { return list.workspaces(); },
        name);
  }
  if (kind == "TEMPLATE") {
    return Names<v1::GetTemplatesRequest, v1::GetTemplatesResponse>(
        api, "TemplateService.GetTemplates", [](const auto& list) { return list.templates(); },
        name);
  }
  if (kind == "MODEL") {
    return Names<v1::GetModelsRequest, v1::GetModelsResponse>(
        api, "ModelService.GetModels", [](const auto& list) { return list.models(); }, name);
  }
  if (kind == "USER") {
    return Names<v1::GetUsersRequest, v1::GetUsersResponse>(
        api, "UserService.GetUsers", [](const auto& list) { return list.users(); },
        [](const auto& each) { return each.username(); });
  }
  return {};
}

// Returns the value of -m or -u in words that are not a complete command yet.
std::optional<std::string> FindOptionValue(const std::vector<std::string>& words,
                                           const std::string& letter, const std::string& name) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (absl::StartsWith(words[i], name + "=")) return words[i].substr(name.size() + 1);
    if ((words[i] == letter || words[i] == name) && i + 1 < words.size()) return words[i + 1];
  }
  return std::nullopt;
}

// Exits without output when the time is over; all candidates are printed at the end.
class Deadline {
 public:
  Deadline() {
    std::signal(SIGALRM, [](int) { _exit(kExitOk); });
    Set(kTimeoutMicros);
  }
  ~Deadline() { Set(0); }

 private:
  static void Set(int micros) {
    const itimerval timer = {{0, 0}, {0, micros}};
    setitimer(ITIMER_REAL, &timer, nullptr);
  }
};

absl::StatusOr<int> RunComplete(Invocation& run) {
  const std::vector<std::string> words = run.args.Words("WORD");
  std::string text;
  {
    const Deadline deadline;
    const auto names = [&](const std::string& kind, const std::vector<std::string>& before) {
      const absl::StatusOr<Connection> connection = FindMaster(
          FindOptionValue(words, "-m", "--master"), FindOptionValue(words, "-u", "--user"));
      if (!connection.ok()) return std::vector<Candidate>();
      // No password prompt while completing.
      return FetchNames(ApiClient(connection->urls, connection->token), kind, before);
    };
    for (const Candidate& each : Complete(AllCommands(), words, names)) {
      absl::StrAppend(&text, RemoveControlCharacters(each.word), "\t",
                      RemoveControlCharacters(each.help), "\n");
    }
  }
  run.screen->Print(text);
  return kExitOk;
}

}  // namespace

std::vector<Command> CompletionCommands() {
  return {
      {{"completion"},
       "Print a completion script for a shell",
       {{"SHELL", "Shell: bash, zsh or fish"}},
       {},
       RunCompletion,
       "bash: eval \"$(det completion bash)\"   zsh: eval \"$(det completion zsh)\"   "
       "fish: det completion fish | source"},
      {{"__complete"},
       "Print the completions of the last word, one per line",
       {{"WORD", "Words that follow det", /*optional=*/true, /*repeated=*/true}},
       {},
       RunComplete,
       ""},
  };
}

}  // namespace det::cli
