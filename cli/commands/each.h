// Which ones are meant: the positionals of ids, and the same done to several, each by itself.
#ifndef CLI_COMMANDS_EACH_H_
#define CLI_COMMANDS_EACH_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "cli/command.h"

namespace det::cli {

extern const Positional kOneExperiment;  // EXPERIMENT
extern const Positional kExperiments;    // EXPERIMENT...
extern const Positional kOneTrial;       // TRIAL

// To each id that the positional names: "3 5,7 9-12". Of one, its error; of several each error is a
// line on stderr, the others go on, and the exit code says that not all was done. `noun`:
// "experiment".
absl::StatusOr<int> ForEachId(Invocation& run, const std::string& positional,
                              const std::string& noun,
                              absl::FunctionRef<absl::Status(ApiClient& api, int id)> act);

}  // namespace det::cli

#endif  // CLI_COMMANDS_EACH_H_
