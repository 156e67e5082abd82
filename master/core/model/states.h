// The states of experiments, trials, other tasks and allocations, and how an allocation ended. The state
// machines and their diagrams are in master/core/experiment.
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
  // An ended experiment that is being deleted (docs/durability.md).
  kDeleting,
  kDeleteFailed,  // its files could not be removed; the cause is its reason
  kDeleted,       // deleted, except for checkpoints that are held
};

// The state of a checkpoint's files.
enum class CheckpointState {
  kCompleted,
  kError,             // damaged
  kPartiallyDeleted,  // some are or will be removed; no trial may start from it
  kDeleting,          // will be removed
  kDeleted,           // removed; the row of the checkpoint is kept
};

enum class TrialState {
  kQueued,   // waits for slots
  kRunning,  // has an allocation with slots
  kPaused,
  kStopping,  // its allocation is terminating; `end_as` is the next state
  kCompleted,
  kCanceled,
  kError,
};

// What a task runs (docs/tasks.md).
enum class TaskKind {
  kTrial,
  kCommand,
  kNotebook,
  kShell,
  kTensorboard,
  kGeneric,
};

// The state of a task that is not a trial.
enum class TaskState {
  kQueued,   // waits for slots
  kRunning,  // has an allocation with slots
  kPaused,
  kStopping,  // its allocation is terminating; `end_as` is the next state
  kCompleted,
  kCanceled,
  kError,
};

enum class AllocationState {
  kQueued,      // waits for slots
  kAssigned,    // has slots; processes are being started
  kRunning,     // every local task has started
  kPreempting,  // must checkpoint and exit
  kStopping,    // being killed
  kTerminated,
};

// Why an allocation ended.
enum class ExitReason {
  kNone,         // it has not ended
  kFinished,     // exit code 0
  kPreempted,    // exit code 0 after the preemption was acknowledged
  kStopped,      // killed on request
  kFailed,       // a non-zero exit code, a signal, or a program that cannot be started
  kInvalidHp,    // the trial reported invalid hyperparameters
  kInvalidCode,  // the trial's source does not compile or does not exist
  kNodeLost,     // the agent was lost, or reconnected without the task
};

std::string_view ToString(ExperimentState state);  // "ACTIVE"
std::string_view ToString(CheckpointState state);  // "COMPLETED"
std::string_view ToString(TrialState state);       // "QUEUED"
std::string_view ToString(TaskKind kind);          // "NOTEBOOK"
std::string_view ToString(TaskState state);        // "QUEUED"
std::string_view ToString(AllocationState state);  // "ASSIGNED"
std::string_view ToString(ExitReason reason);      // "NODE_LOST"
std::optional<ExperimentState> ParseExperimentState(std::string_view text);
std::optional<CheckpointState> ParseCheckpointState(std::string_view text);
std::optional<TrialState> ParseTrialState(std::string_view text);
std::optional<TaskKind> ParseTaskKind(std::string_view text);
std::optional<TaskState> ParseTaskState(std::string_view text);
std::optional<AllocationState> ParseAllocationState(std::string_view text);
std::optional<ExitReason> ParseExitReason(std::string_view text);

// Whether it has ended; deletion states are terminal too.
bool IsTerminal(ExperimentState state);
// Whether it is being deleted or was deleted.
bool IsDeletion(ExperimentState state);
bool IsTerminal(TrialState state);
bool IsTerminal(TaskState state);

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_STATES_H_
