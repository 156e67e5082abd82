// Positionals for experiment and trial IDs, and running an action for several IDs.
#ifndef CLI_COMMANDS_ID_ARGUMENTS_H_
#define CLI_COMMANDS_ID_ARGUMENTS_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "cli/command.h"

namespace det::cli {

extern const Positional kOneExperiment;  // EXPERIMENT
extern const Positional kExperiments;    // EXPERIMENT...
extern const Positional kOneTrial;       // TRIAL

// Calls `act` for each ID of the positional: "3 5,7 9-12". With one ID, returns its error. With
// several, each error is printed on stderr, the remaining IDs are still processed, and the exit
// code is an error if any failed. `noun` is like "experiment".
absl::StatusOr<int> ForEachId(Invocation& run, const std::string& positional,
                              const std::string& noun,
                              absl::FunctionRef<absl::Status(ApiClient& api, int id)> act);

}  // namespace det::cli

#endif  // CLI_COMMANDS_ID_ARGUMENTS_H_
