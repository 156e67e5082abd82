#include "cli/command.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "cli/connection.h"
#include "cli/json_text.h"
#include "cli/sign_in.h"
#include "cli/table.h"
#include "cli/yaml_text.h"
#include "proto/http_rule.h"

namespace det::cli {
namespace {

const std::map<std::string, std::string>& Aliases() {
  static const auto& aliases = *new std::map<std::string, std::string>{
      {"a", "agent"},
      {"c", "checkpoint"},
      {"cmd", "command"},
      {"d", "deploy"},
      {"e", "experiment"},
      {"j", "job"},
      {"cp", "config-policies"},
      {"m", "model"},
      {"p", "project"},
      {"res", "resources"},
      {"rp", "resource-pool"},
      {"s", "slot"},
      {"t", "trial"},
      {"tkn", "token"},
      {"tpl", "template"},
      {"u", "user"},
      {"w", "workspace"},
      {"ls", "list"},
      {"rm", "remove"},
      {"lc", "list-checkpoints"},
      {"lt", "list-trials"},
      {"unpause", "activate"},
  };
  return aliases;
}

// Returns the longer commands that contain the word: {"det experiment logs", "det trial logs"} for
// a "logs" without its group.
std::set<std::string> FindDeeperPaths(const std::vector<const Command*>& within, size_t depth,
                                      const std::string& word) {
  std::set<std::string> places;
  for (const Command* command : within) {
    if (!IsShown(*command)) continue;
    const auto begin = command->path.begin();
    const auto found =
        std::find(begin + static_cast<std::ptrdiff_t>(depth), command->path.end(), word);
    if (found != command->path.end())
      places.insert(absl::StrCat("`", FormatCommand({begin, found + 1}), "`"));
  }
  return places;
}

// Returns the full name of the word at `depth` of the commands `within`, which share their path so
// far. Accepts aliases and unambiguous prefixes.
absl::StatusOr<std::string> MatchWord(const std::vector<const Command*>& within, size_t depth,
                                      const std::string& given) {
  // Scripts can write show_ssh_command.
  const std::string word = absl::StrReplaceAll(given, {{"_", "-"}});
  // The only alias that another group gives to another word.
  if (word == "c" && depth == 1 && within[0]->path[0] == "dev") return "curl";
  std::set<std::string> names;
  for (const Command* command : within) {
    if (command->path.size() <= depth) continue;
    for (const std::string& name : {given, word}) {
      if (command->path[depth] == name) return name;
    }
    if (IsShown(*command)) names.insert(command->path[depth]);
  }
  if (names.contains(ResolveAlias(word))) return ResolveAlias(word);
  std::vector<std::string> longer;
  for (const std::string& name : names) {
    if (absl::StartsWith(name, word)) longer.push_back(name);
  }
  // "use" stands for "user", although "user-group" begins with it, too.
  const bool is_first_of_all =
      !longer.empty() && std::all_of(longer.begin(), longer.end(), [&](const std::string& name) {
        return absl::StartsWith(name, longer[0] + "-") || name == longer[0];
      });
  if (is_first_of_all) return longer[0];
  std::vector<std::string> prefix(within[0]->path.begin(), within[0]->path.begin() + depth);
  const std::string group = absl::StrJoin(prefix, " ");
  const std::string what =
      absl::StrCat("unknown command \"", group, group.empty() ? "" : " ", given, "\"");
  if (longer.size() > 1) {
    return UsageError(absl::StrCat("\"", word, "\" is ambiguous: ", absl::StrJoin(longer, " or ")));
  }
  if (const auto places = FindDeeperPaths(within, depth, word); !places.empty()) {
    return UsageError(absl::StrCat(what, "; did you mean ", absl::StrJoin(places, " or "), "?"));
  }
  const std::optional<std::string> near = FindNearest(word, {names.begin(), names.end()});
  if (near) {
    return UsageError(
        absl::StrCat(what, "; did you mean `det ", group, group.empty() ? "" : " ", *near, "`?"));
  }
  return UsageError(absl::StrCat(what, "; expected one of: ", absl::StrJoin(names, ", ")));
}

// Returns the command that a group alone stands for, its `list` or `show`; nullptr if there is
// none.
const Command* FindDefaultCommand(const std::vector<const Command*>& within, size_t depth) {
  for (const Command* command : within) {
    if (depth > 0 && command->path.size() == depth + 1 &&
        (command->path.back() == "list" || command->path.back() == "show")) {
      return command;
    }
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<int> RunWords(const Command& command, const std::vector<std::string>& words,
                             Screen* screen) {
  if (!command.instead.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("`", FormatCommand(command.path), "` is not supported: ", command.instead));
  }
  const absl::StatusOr<Arguments> args =
      ParseArguments(GetOptions(command), command.positionals, words);
  if (!args.ok()) {
    const absl::string_view message = args.status().message();
    const std::string path = absl::StrJoin(command.path, " ");
    return UsageError(absl::StrCat(path, ": ", message,
                                   absl::EndsWith(message, "?") ? " See" : "; see", " `det ", path,
                                   " --help`"));
  }
  Invocation run(*args, screen);
  return command.run(run);
}

absl::StatusOr<Connection> Invocation::FindConnection() const {
  return FindMaster(args.Get("master"), args.Get("user"));
}

absl::StatusOr<ApiClient*> Invocation::GetApi() {
  if (!api_) {
    DET_ASSIGN_OR_RETURN(const Connection connection, FindConnection());
    api_.emplace(connection.urls, MakeCredential(connection));
  }
  return &*api_;
}

absl::StatusOr<int> Invocation::PrintResult(const google::protobuf::Message& response,
                                            const std::string& text) {
  if (json()) {
    DET_RETURN_IF_ERROR(PrintJson(response));
  } else {
    screen->Print(text);
  }
  return kExitOk;
}

absl::Status Invocation::PrintJson(const google::protobuf::Message& message) {
  DET_ASSIGN_OR_RETURN(const std::string text, proto::ToJson(message));
  google::protobuf::Struct values;
  if (args.Has("yaml")) {
    DET_RETURN_IF_ERROR(proto::FromJson(text, &values));
    screen->Print(FormatYaml(values));
  } else {
    screen->Print(IndentJson(text) + "\n");
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Invocation::PrintList(const google::protobuf::Message& response,
                                          const Table& table, const std::string& none) {
  if (json()) {
    DET_RETURN_IF_ERROR(PrintJson(response));
  } else if (args.Has("csv")) {
    screen->Print(table.RenderCsv());
  } else if (table.empty()) {
    screen->PrintNotice(none);
  } else {
    screen->Print(table.Render(screen->out()));
  }
  return kExitOk;
}

const Option kCsv = {"csv", 0, "", "Print the table as CSV"};

const std::vector<Option>& CommonOptions() {
  static const auto& options = *new std::vector<Option>{
      {"master", 'm', "URL", "Master URLs, as A,B for several (default: $DET_MASTER or local)"},
      {"user", 'u', "USER", "User to authenticate as (default: the user that signed in last)"},
      {"json", 0, "", "Print the API response as JSON"},
      {"no-color", 0, "", "Disable colors, as with $NO_COLOR"},
      {"help", 'h', "", "Show this help"},
  };
  return options;
}

std::vector<Option> GetOptions(const Command& command) {
  std::vector<Option> options = command.options;
  for (Option common : CommonOptions()) {
    // The command's own option has the letter: `det rbac assign-role -u USER`.
    const bool taken = std::any_of(command.options.begin(), command.options.end(),
                                   [&](const Option& own) { return own.letter == common.letter; });
    if (taken) common.letter = 0;
    options.push_back(std::move(common));
  }
  return options;
}

std::vector<Command> AllCommands() {
  std::vector<Command> all;
  for (const auto make :
       {&ExperimentCommands,     &TrialCommands,       &CheckpointCommands, &TaskCommands,
        &GenericTaskCommands,    &CommandTaskCommands, &NotebookCommands,   &ShellCommands,
        &TensorboardCommands,    &TunnelCommands,      &JobCommands,        &AgentCommands,
        &ResourcePoolCommands,   &QuotaCommands,       &ClusterCommands,    &TemplateCommands,
        &SearchCommands,         &WorkspaceCommands,   &ProjectCommands,    &WebhookCommands,
        &ConfigPoliciesCommands, &ModelCommands,       &UserCommands,       &TokenCommands,
        &UserGroupCommands,      &RbacCommands,        &ResourcesCommands,  &MasterCommands,
        &DeployCommands,         &DevCommands,         &SimulateCommands,   &SyncCommands,
        &CompletionCommands,     &UnsupportedCommands}) {
    for (Command& each : make()) all.push_back(std::move(each));
  }
  AddDeterminedOptions(&all);
  return all;
}

std::string ResolveAlias(const std::string& name) {
  const auto alias = Aliases().find(name);
  return alias == Aliases().end() ? name : alias->second;
}

bool IsShown(const Command& command) {
  return command.instead.empty() && !absl::StartsWith(command.path[0], "_");
}

std::string FormatCommand(const std::vector<std::string>& path) {
  return absl::StrCat("det", path.empty() ? "" : " ", absl::StrJoin(path, " "));
}

std::vector<const Command*> SelectGroup(const std::vector<Command>& commands,
                                        const std::vector<std::string>& group) {
  std::vector<const Command*> within;
  for (const Command& command : commands) {
    if (command.path.size() >= group.size() &&
        std::equal(group.begin(), group.end(), command.path.begin())) {
      within.push_back(&command);
    }
  }
  return within;
}

bool HasHelpFlag(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") return false;
    if (word == "-h" || word == "--help") return true;
  }
  return false;
}

absl::StatusOr<FoundCommand> FindCommand(const std::vector<Command>& commands,
                                         const std::vector<std::string>& words) {
  std::vector<const Command*> within = SelectGroup(commands, {});
  FoundCommand found;
  while (true) {
    const size_t depth = found.path.size();
    const auto done = std::find_if(within.begin(), within.end(), [&](const Command* command) {
      return command->path.size() == depth;
    });
    if (done != within.end()) found.command = *done;
    if (found.command != nullptr) return found;
    if (depth >= words.size() || absl::StartsWith(words[depth], "-")) {
      if (!HasHelpFlag(words)) found.command = FindDefaultCommand(within, depth);
      return found;
    }
    DET_ASSIGN_OR_RETURN(const std::string name, MatchWord(within, depth, words[depth]));
    found.path.push_back(name);
    within = SelectGroup(commands, found.path);
  }
}

absl::Status MissingCommandError(const std::vector<Command>& commands,
                                 const std::vector<std::string>& group) {
  std::set<std::string> next;
  for (const Command* command : SelectGroup(commands, group)) {
    if (IsShown(*command)) next.insert(command->path[group.size()]);
  }
  return UsageError(
      absl::StrCat("`", FormatCommand(group), "` needs one of: ", absl::StrJoin(next, ", ")));
}

}  // namespace det::cli
