// The table of the commands of `det`. It is the only declaration of a command: parsing
// (arguments.h), help (help.h) and completion (completion.h) are derived from it. Read by main;
// `run` is called on the main thread.
#ifndef CLI_COMMAND_H_
#define CLI_COMMAND_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

// One execution of a command.
class Invocation {
 public:
  Invocation(Arguments args, Screen* screen) : args(std::move(args)), screen(screen) {}

  // Whether to print the API response; PrintJson() prints it as YAML with --yaml.
  bool json() const { return args.Has("json") || args.Has("yaml"); }

  // Returns the master of -m, the environment or the running local cluster, and the user to
  // authenticate as. Returns FAILED_PRECONDITION with instructions to start or name a master.
  absl::StatusOr<Connection> FindConnection() const;

  // Returns a client of this master.
  absl::StatusOr<ApiClient*> GetApi();

  // Prints the message on stdout as indented JSON of the API, or as YAML.
  absl::Status PrintJson(const google::protobuf::Message& message);

  // Prints the result of a call: the response with --json, else `text`. Returns the exit code.
  absl::StatusOr<int> PrintResult(const google::protobuf::Message& response,
                                  const std::string& text);

  // Prints a list: the response with --json, CSV with --csv, else a table, or `none` on stderr if
  // it has no rows. Returns the exit code.
  absl::StatusOr<int> PrintList(const google::protobuf::Message& response, const Table& table,
                                const std::string& none);

  const Arguments args;
  Screen* const screen;

 private:
  std::optional<ApiClient> api_;
};

struct Command {
  // {"experiment", "create"}. A command that begins with "_" is hidden: only programs call it.
  std::vector<std::string> path;
  std::string summary;  // imperative, upper-case first letter, no full stop, under 70 characters
  std::vector<Positional> positionals;
  std::vector<Option> options;
  // Returns the exit code or an error; CANCELLED when interrupted.
  absl::StatusOr<int> (*run)(Invocation&) = nullptr;
  std::string notes;  // further help, may be empty
  // The alternative to a command of Determined that is not supported. It is printed whatever
  // arguments follow. Such a command has no `run` and is found only by its full name.
  std::string instead = {};
};

// Runs the command with the words after its name. Returns the exit code or an error; a usage error
// names the command.
absl::StatusOr<int> RunWords(const Command& command, const std::vector<std::string>& words,
                             Screen* screen);

// Option of every command whose last word begins with "list".
extern const Option kCsv;

// The options of every command.
const std::vector<Option>& CommonOptions();
// Returns the command's own options and the common ones.
std::vector<Option> GetOptions(const Command& command);

// Adds the options of Determined that have another name here, need no effect, or are not supported
// (commands/determined_options.cc).
void AddDeterminedOptions(std::vector<Command>* commands);

std::vector<Command> ExperimentCommands();
std::vector<Command> TrialCommands();
std::vector<Command> CheckpointCommands();
std::vector<Command> TaskCommands();
std::vector<Command> CommandTaskCommands();
std::vector<Command> NotebookCommands();
std::vector<Command> ShellCommands();
std::vector<Command> TensorboardCommands();
std::vector<Command> TunnelCommands();
std::vector<Command> GenericTaskCommands();
std::vector<Command> AgentCommands();
std::vector<Command> JobCommands();
std::vector<Command> ResourcePoolCommands();
std::vector<Command> BindingCommands();  // part of ResourcePoolCommands
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
std::vector<Command> SyncCommands();
std::vector<Command> UserCommands();
std::vector<Command> TokenCommands();
std::vector<Command> UserGroupCommands();
std::vector<Command> RbacCommands();
std::vector<Command> ResourcesCommands();
std::vector<Command> WorkspaceCommands();
std::vector<Command> ProjectCommands();
std::vector<Command> ModelCommands();
std::vector<Command> CompletionCommands();
std::vector<Command> UnsupportedCommands();

// Returns all commands in the order of the help.
std::vector<Command> AllCommands();

// Returns the name that an alias stands for ("e": "experiment"); other names unchanged.
std::string ResolveAlias(const std::string& name);

// Returns whether help and completion show the command; hidden and unsupported ones are not shown.
bool IsShown(const Command& command);

// Returns {"deploy", "local"} as typed: "det deploy local".
std::string FormatCommand(const std::vector<std::string>& path);

// Returns the commands of a group; all for {}.
std::vector<const Command*> SelectGroup(const std::vector<Command>& commands,
                                        const std::vector<std::string>& group);

// Returns whether the words before any "--" contain -h or --help.
bool HasHelpFlag(const std::vector<std::string>& words);

// Finds the command at the beginning of the words, or the group if they end there ("deploy local";
// {} without words). Accepts aliases ("e") and unambiguous prefixes ("exp desc"). A group alone
// stands for its `list` or `show` command, unless help is requested. Returns a usage error with
// suggestions.
struct FoundCommand {
  const Command* command = nullptr;  // nullptr: a group
  std::vector<std::string> path;     // full names of the words that were consumed
};
absl::StatusOr<FoundCommand> FindCommand(const std::vector<Command>& commands,
                                         const std::vector<std::string>& words);

// Returns the usage error for a group ({"experiment"}) without a command.
absl::Status MissingCommandError(const std::vector<Command>& commands,
                                 const std::vector<std::string>& group);

}  // namespace det::cli

#endif  // CLI_COMMAND_H_
