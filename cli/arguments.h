// The words of a command line against a table of commands.
// Called by main before anything else. Does no I/O, prints nothing.
#ifndef CLI_ARGUMENTS_H_
#define CLI_ARGUMENTS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace det::cli {

// INVALID_ARGUMENT that is the fault of the command line's words: main exits with 2 for it.
absl::Status UsageError(absl::string_view message);
bool IsUsageError(const absl::Status& status);

struct Option {
  std::string name;   // "config", without the dashes
  char letter = 0;    // 0: none
  std::string value;  // "KEY=VALUE" as help shows it; empty: a switch
  std::string help;
  // What to do instead of an option that people know from elsewhere and that there is not here:
  // said to whoever gives it. Help and completion leave it out.
  std::string instead = {};
};

struct Positional {
  std::string name;  // "CONFIG"
  std::string help;
  bool optional = false;
  bool repeated = false;  // The last only: takes all that follow.
};

// What was given. Options by long name; a switch has the value "".
class Arguments {
 public:
  bool Has(absl::string_view option) const { return options.contains(std::string(option)); }
  // The last value given.
  std::optional<std::string> Get(absl::string_view option) const;
  std::vector<std::string> GetAll(absl::string_view option) const;
  // INVALID_ARGUMENT unless it is an integer in [least, most].
  absl::StatusOr<int> GetInt(absl::string_view option, int fallback, int least, int most) const;
  // The words of a positional, empty if it was not given.
  std::string Word(absl::string_view positional) const;
  std::vector<std::string> Words(absl::string_view positional) const;
  // INVALID_ARGUMENT unless the word is an id, an integer of at least 1.
  absl::StatusOr<int> Id(absl::string_view positional) const;
  // Of "3 5,7 9-12" each once, in their order. INVALID_ARGUMENT for what is no id, for a range that
  // goes down, and for more than 10,000.
  absl::StatusOr<std::vector<int>> Ids(absl::string_view positional) const;

  std::map<std::string, std::vector<std::string>> options;
  std::map<std::string, std::vector<std::string>> words;
};

// INVALID_ARGUMENT says what is wrong with which word. `argv` is what follows the command.
absl::StatusOr<Arguments> ParseArguments(const std::vector<Option>& options,
                                         const std::vector<Positional>& positionals,
                                         const std::vector<std::string>& argv);

// The candidate with the smallest edit distance to `word`, if one is near.
std::optional<std::string> FindNearest(absl::string_view word,
                                       const std::vector<std::string>& candidates);

}  // namespace det::cli

#endif  // CLI_ARGUMENTS_H_
