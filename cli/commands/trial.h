// What other commands show of trials.
#ifndef CLI_COMMANDS_TRIAL_H_
#define CLI_COMMANDS_TRIAL_H_

#include <string>

#include "cli/terminal.h"
#include "det/api/v1/trial.pb.h"

namespace det::cli {

// One row per trial; a sentence if there is none.
std::string TrialTable(const api::v1::GetExperimentTrialsResponse& trials, const Style& style);

}  // namespace det::cli

#endif  // CLI_COMMANDS_TRIAL_H_
