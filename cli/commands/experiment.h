// Shared by the files of `det experiment`.
#ifndef CLI_COMMANDS_EXPERIMENT_H_
#define CLI_COMMANDS_EXPERIMENT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "cli/command.h"
#include "cli/table.h"
#include "det/api/v1/experiment.pb.h"

namespace det::cli {

// Returns the exit code for an experiment that has ended; prints the state on stderr unless it is
// COMPLETED.
absl::StatusOr<int> ReportFinalState(const api::v1::Experiment& last, Invocation& run);

// Follows an experiment and its log until it ends. Returns the exit code.
absl::StatusOr<int> FollowToEnd(Invocation& run, const ApiClient& api, int id);

// Sends the request and prints the new experiment, or follows it with --follow. `ports` are
// published meanwhile.
class PublishedPorts;
absl::StatusOr<int> Create(Invocation& run, const api::v1::CreateExperimentRequest& request,
                           PublishedPorts* ports = nullptr);

// ---- checkpoint.cc ----
Table CheckpointTable(const google::protobuf::RepeatedPtrField<api::v1::Checkpoint>& checkpoints);
// Prints on stderr which checkpoints were kept, and what uses them.
void PrintKept(Invocation& run,
               const google::protobuf::RepeatedPtrField<api::v1::HeldCheckpoint>& kept);

Command ExperimentCreateCommand();
std::vector<Command> ExperimentDescribeCommands();
// config, download, download-model-def.
std::vector<Command> ExperimentFileCommands();
// kill, pause, activate, cancel, archive, unarchive.
std::vector<Command> ExperimentActionCommands();
Command ExperimentWatchCommand();
std::vector<Command> ExperimentSetCommands();
// move, label, set name|description.
std::vector<Command> ExperimentEditCommands();
std::vector<Command> ExperimentDeletionCommands();
// continue, fork.
std::vector<Command> ExperimentContinueCommands();

}  // namespace det::cli

#endif  // CLI_COMMANDS_EXPERIMENT_H_
