// One command of `det`, and the table of all.
// The table is read by main; `run` is called on the main thread with what was given.
#ifndef CLI_COMMAND_H_
#define CLI_COMMAND_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/api_client.h"
#include "cli/arguments.h"
#include "cli/connection.h"
#include "cli/terminal.h"

namespace google::protobuf {
class Message;
}

namespace det::cli {

class Table;

inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInterrupted = 3;

// One run of one command.
class Invocation {
 public:
  Invocation(Arguments args, Screen* screen) : args(std::move(args)), screen(screen) {}

  bool json() const { return args.Has("json"); }

  // The master that -m, the environment or a running local cluster names, and as whom it is asked.
  // FAILED_PRECONDITION says how to start or name one.
  absl::StatusOr<Connection> FindConnection() const;

  // The way there.
  absl::StatusOr<ApiClient*> GetApi();

  // The API's own JSON, indented, on stdout.
  absl::Status PrintJson(const google::protobuf::Message& message);

  // The answer to one call: --json the API's own, else `text`. The exit code.
  absl::StatusOr<int> PrintResult(const google::protobuf::Message& response,
                                  const std::string& text);

  // A list as it was asked for: --json the API's answer, --csv, else a table, or `none` on stderr
  // where it has no rows. The exit code.
  absl::StatusOr<int> PrintList(const google::protobuf::Message& response, const Table& table,
                                const std::string& none);

  const Arguments args;
  Screen* const screen;

 private:
  std::optional<ApiClient> api_;
};

struct Command {
  // {"experiment", "create"}. A command that begins with "_" is not shown: programs call it.
  std::vector<std::string> path;
  std::string summary;  // one line, no full stop
  std::vector<Positional> positionals;
  std::vector<Option> options;
  // The exit code, or why it failed; CANCELLED when interrupted.
  absl::StatusOr<int> (*run)(Invocation&) = nullptr;
  std::string notes;  // further help, if any
  // What to do instead of a command that people know from elsewhere and that there is not here:
  // said whatever words follow. Such a command has no `run`, and is found by its whole name alone.
  std::string instead = {};
};

// The command with the words that follow its own: the exit code, or why it failed. A usage error
// names the command.
absl::StatusOr<int> RunWords(const Command& command, const std::vector<std::string>& words,
                             Screen* screen);

// Of every command whose last word begins with "list".
extern const Option kCsv;

// Every command takes these as well.
const std::vector<Option>& CommonOptions();
std::vector<Option> GetOptions(const Command& command);  // its own, then these

std::vector<Command> ExperimentCommands();
std::vector<Command> TrialCommands();
std::vector<Command> CheckpointCommands();
std::vector<Command> TaskCommands();
std::vector<Command> AgentCommands();
std::vector<Command> JobCommands();
std::vector<Command> ResourcePoolCommands();
std::vector<Command> BindingCommands();  // ResourcePoolCommands has them
std::vector<Command> QuotaCommands();
std::vector<Command> ClusterCommands();
std::vector<Command> MasterCommands();
std::vector<Command> DeployCommands();
std::vector<Command> TemplateCommands();
std::vector<Command> SearchCommands();
std::vector<Command> WebhookCommands();
std::vector<Command> ConfigPoliciesCommands();
std::vector<Command> DevCommands();
std::vector<Command> SimulateCommands();
std::vector<Command> UserCommands();
std::vector<Command> TokenCommands();
std::vector<Command> RbacCommands();
std::vector<Command> ResourcesCommands();
std::vector<Command> WorkspaceCommands();
std::vector<Command> ProjectCommands();
std::vector<Command> ModelCommands();
std::vector<Command> CompletionCommands();
std::vector<Command> UnsupportedCommands();

// All of them, in the order in which help shows them.
std::vector<Command> AllCommands();

// `name` for what it stands for ("e": "experiment"); itself where it is no alias.
std::string ResolveAlias(const std::string& name);

// Whether help and completion show it: programs call those that begin with "_", and nobody is led
// to what there is not.
bool IsShown(const Command& command);

// Whether -h or --help is among them.
bool HasHelpFlag(const std::vector<std::string>& words);

// The command that the words begin with, or the group where they stop ("deploy local"; {} for no
// word at all), in `path` as the table spells it. Accepts aliases ("e") and unambiguous beginnings
// ("exp desc"); a group that stops there and has a list, or a show, stands for it, unless help is
// asked for. INVALID_ARGUMENT names the nearest command.
struct FoundCommand {
  const Command* command = nullptr;  // nullptr: a group
  std::vector<std::string> path;     // of as many words as were taken
};
absl::StatusOr<FoundCommand> FindCommand(const std::vector<Command>& commands,
                                         const std::vector<std::string>& words);

// What a group ({"experiment"}) lacks: its commands.
absl::Status MissingCommandError(const std::vector<Command>& commands,
                                 const std::vector<std::string>& group);

// Help of the whole ({}), of a group, and of one command.
std::string HelpText(const std::vector<Command>& commands, const std::vector<std::string>& group,
                     const Style& style);
std::string HelpText(const Command& command, const Style& style);

}  // namespace det::cli

#endif  // CLI_COMMAND_H_
