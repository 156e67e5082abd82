// States of the three machines, and how an allocation ended. The machines themselves are in
// master/core/experiment; transition diagrams stand there.
//
// PURE.
#ifndef MASTER_CORE_MODEL_STATES_H_
#define MASTER_CORE_MODEL_STATES_H_

#include <optional>
#include <string>
#include <string_view>

namespace det::model {

enum class ExperimentState {
  kActive,
  kPaused,
  kStoppingCompleted,
  kStoppingCanceled,
  kStoppingError,
  kCompleted,
  kCanceled,
  kError,
  // It had ended and is being deleted (docs/durability.md).
  kDeleting,
  kDeleteFailed,  // its files could not be removed; its reason says why
  kDeleted,       // nothing is left of it but checkpoints that others hold
};

// Of a checkpoint's files.
enum class CheckpointState {
  kCompleted,
  kError,             // damaged
  kPartiallyDeleted,  // some are gone, or about to go; nobody starts from it any more
  kDeleting,          // to be removed
  kDeleted,           // gone; what is known of the checkpoint stays
};

enum class TrialState {
  kQueued,   // wants to run, has no slots
  kRunning,  // has an allocation with slots
  kPaused,
  kStopping,  // its allocation was told to end; `end_as` says what it will be
  kCompleted,
  kCanceled,
  kError,
};

enum class AllocationState {
  kQueued,      // waits for slots
  kAssigned,    // has slots; processes are being started
  kRunning,     // every share has started
  kPreempting,  // asked to save and exit
  kStopping,    // being killed
  kTerminated,
};

// Why an allocation ended.
enum class ExitReason {
  kNone,         // it has not
  kFinished,     // exit code 0
  kPreempted,    // exit code 0 after the preemption was acknowledged
  kStopped,      // we killed it, as asked
  kFailed,       // its own fault: a non-zero code, a signal, a program that cannot be started
  kInvalidHp,    // the trial said so
  kInvalidCode,  // the trial's source does not compile or is not there
  kNodeLost,     // not its fault: the agent is gone, or came back without the task
};

std::string_view ToString(ExperimentState state);  // "ACTIVE"
std::string_view ToString(CheckpointState state);  // "COMPLETED"
std::string_view ToString(TrialState state);       // "QUEUED"
std::string_view ToString(AllocationState state);  // "ASSIGNED"
std::string_view ToString(ExitReason reason);      // "NODE_LOST"
std::optional<ExperimentState> ParseExperimentState(std::string_view text);
std::optional<CheckpointState> ParseCheckpointState(std::string_view text);
std::optional<TrialState> ParseTrialState(std::string_view text);
std::optional<AllocationState> ParseAllocationState(std::string_view text);
std::optional<ExitReason> ParseExitReason(std::string_view text);

// It has ended, whatever has become of it since.
bool IsTerminal(ExperimentState state);
// It is being deleted, or was.
bool IsDeletion(ExperimentState state);
bool IsTerminal(TrialState state);

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_STATES_H_
