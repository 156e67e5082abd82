// Functions of the trial commands that other commands use.
#ifndef CLI_COMMANDS_TRIAL_H_
#define CLI_COMMANDS_TRIAL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/api_client.h"
#include "cli/command.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "det/api/v1/trial.pb.h"

namespace det::cli {

// One row per trial. Without `all_columns`, the log policies are a column only if one has matched.
Table TrialTable(const api::v1::GetExperimentTrialsResponse& trials, bool all_columns);

// Returns the table; a sentence if there are no trials.
std::string TrialText(const api::v1::GetExperimentTrialsResponse& trials, const Style& style);

// ---- workloads.cc: what a trial reported, point by point ----

// Returns all reports, oldest first, fetched in pages.
absl::StatusOr<api::v1::GetTrialWorkloadsResponse> GetWorkloads(const ApiClient& api, int trial);
Table EmptyWorkloadTable();
void AddWorkloads(int trial, const api::v1::GetTrialWorkloadsResponse& workloads, Table* table);

// ---- trial_files.cc ----
// download, support-bundle.
std::vector<Command> TrialFileCommands();

}  // namespace det::cli

#endif  // CLI_COMMANDS_TRIAL_H_
