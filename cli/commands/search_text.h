// The search section of `det experiment describe`.
#ifndef CLI_COMMANDS_SEARCH_TEXT_H_
#define CLI_COMMANDS_SEARCH_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/api_client.h"
#include "cli/terminal.h"
#include "det/api/v1/experiment.pb.h"

namespace det::cli {

// Returns the best hyperparameters, rungs and Pareto front; empty for a single trial.
absl::StatusOr<std::string> SearchText(const ApiClient& api, const api::v1::Experiment& experiment,
                                       const Style& style);

}  // namespace det::cli

#endif  // CLI_COMMANDS_SEARCH_TEXT_H_
