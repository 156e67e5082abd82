// What the files of `det experiment` share.
#ifndef CLI_COMMANDS_EXPERIMENT_H_
#define CLI_COMMANDS_EXPERIMENT_H_

#include "absl/status/statusor.h"
#include "cli/command.h"
#include "det/api/v1/experiment.pb.h"

namespace det::cli {

// The exit code for an experiment that has ended, which is said on stderr unless it is COMPLETED.
absl::StatusOr<int> ReportEnd(const api::v1::Experiment& last, Invocation& run);

Command ExperimentCreateCommand();

}  // namespace det::cli

#endif  // CLI_COMMANDS_EXPERIMENT_H_
