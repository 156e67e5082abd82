// Options and positionals of a command, and parsing of its command line with CLI11.
// Used by main before anything else. Does no I/O and prints nothing.
//
// The table of commands (command.h) declares the options; CLI11 parses them. What CLI11 does not
// have is done here: one error style with suggestions, options that only name an alternative, and
// an error for an empty value.
#ifndef CLI_ARGUMENTS_H_
#define CLI_ARGUMENTS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace CLI {
class App;
}

namespace det::cli {

// An INVALID_ARGUMENT error in the command line: main exits with code 2.
absl::Status UsageError(absl::string_view message);
bool IsUsageError(const absl::Status& status);

struct Option {
  std::string name;   // "config", without the dashes
  char letter = 0;    // 0: none
  std::string value;  // "KEY=VALUE" as shown in help; empty: a flag
  std::string help;
  // The alternative to an option of Determined that is not supported. It is shown if the option is
  // given; help and completion hide the option.
  std::string instead = {};
  bool may_be_empty = false;  // the value may be ""
  // Another spelling of this option, or of this positional; hidden in help and completion.
  std::string same_as = {};
  bool hidden = false;   // accepted for existing scripts, which need not change
  bool several = false;  // takes all words up to the next option: -t 1 2 3
};

// Whether help, completion and suggestions show the option.
bool IsShown(const Option& option);

struct Positional {
  std::string name;  // "CONFIG"
  std::string help;
  bool optional = false;
  bool repeated = false;  // only for the last one: takes all remaining words
  // Only for a repeated one: it is another program's command line, whose options are not det's. It
  // begins after the words of the other positionals; if there are none, with the first word that is
  // not an option of det.
  bool verbatim = false;
};

// The parsed arguments. Options are stored by long name; a flag has the value "".
class Arguments {
 public:
  bool Has(absl::string_view option) const { return options.contains(std::string(option)); }
  // Returns the last value of the option.
  std::optional<std::string> Get(absl::string_view option) const;
  std::vector<std::string> GetAll(absl::string_view option) const;
  // Returns a usage error unless the value is an integer in [min, max].
  absl::StatusOr<int> GetInt(absl::string_view option, int fallback, int min, int max) const;
  // Returns the words of a positional; empty if it was not given.
  std::string Word(absl::string_view positional) const;
  std::vector<std::string> Words(absl::string_view positional) const;
  // Returns a usage error unless the word is an ID, an integer of at least 1.
  absl::StatusOr<int> Id(absl::string_view positional) const;
  // Returns the IDs of "3 5,7 9-12", each once, in their order. Returns a usage error for an
  // invalid ID, a descending range, and more than 10,000 IDs.
  absl::StatusOr<std::vector<int>> Ids(absl::string_view positional) const;

  std::map<std::string, std::vector<std::string>> options;
  std::map<std::string, std::vector<std::string>> words;
};

// Declares the options for CLI11, with their help.
void AddOptions(const std::vector<Option>& options, CLI::App* app);

// Parses `argv`, the words after the command. Returns a usage error that names the invalid word.
// With --help, positionals can be missing. The name of an option can be shortened.
absl::StatusOr<Arguments> ParseArguments(const std::vector<Option>& options,
                                         const std::vector<Positional>& positionals,
                                         const std::vector<std::string>& argv);

// Returns the candidate with the smallest edit distance to `word`, if it is small enough.
std::optional<std::string> FindNearest(absl::string_view word,
                                       const std::vector<std::string>& candidates);

}  // namespace det::cli

#endif  // CLI_ARGUMENTS_H_
