// What other commands show of trials.
#ifndef CLI_COMMANDS_TRIAL_H_
#define CLI_COMMANDS_TRIAL_H_

#include <string>

#include "cli/table.h"
#include "cli/terminal.h"
#include "det/api/v1/trial.pb.h"

namespace det::cli {

// One row per trial.
Table TrialTable(const api::v1::GetExperimentTrialsResponse& trials);

// The table; a sentence if there is no trial.
std::string TrialText(const api::v1::GetExperimentTrialsResponse& trials, const Style& style);

}  // namespace det::cli

#endif  // CLI_COMMANDS_TRIAL_H_
