#include "master/core/model/states.h"

#include "master/core/model/names.h"

namespace det::model {
namespace {

constexpr Name<ExperimentState> kExperimentStates[] = {
    {ExperimentState::kActive, "ACTIVE"},
    {ExperimentState::kPaused, "PAUSED"},
    {ExperimentState::kStoppingCompleted, "STOPPING_COMPLETED"},
    {ExperimentState::kStoppingCanceled, "STOPPING_CANCELED"},
    {ExperimentState::kStoppingError, "STOPPING_ERROR"},
    {ExperimentState::kCompleted, "COMPLETED"},
    {ExperimentState::kCanceled, "CANCELED"},
    {ExperimentState::kError, "ERROR"},
    {ExperimentState::kDeleting, "DELETING"},
    {ExperimentState::kDeleteFailed, "DELETE_FAILED"},
    {ExperimentState::kDeleted, "DELETED"},
};

constexpr Name<CheckpointState> kCheckpointStates[] = {
    {CheckpointState::kCompleted, "COMPLETED"},
    {CheckpointState::kError, "ERROR"},
    {CheckpointState::kPartiallyDeleted, "PARTIALLY_DELETED"},
    {CheckpointState::kDeleting, "DELETING"},
    {CheckpointState::kDeleted, "DELETED"},
};

constexpr Name<TrialState> kTrialStates[] = {
    {TrialState::kQueued, "QUEUED"},       {TrialState::kRunning, "RUNNING"},
    {TrialState::kPaused, "PAUSED"},       {TrialState::kStopping, "STOPPING"},
    {TrialState::kCompleted, "COMPLETED"}, {TrialState::kCanceled, "CANCELED"},
    {TrialState::kError, "ERROR"},
};

constexpr Name<TaskKind> kTaskKinds[] = {
    {TaskKind::kTrial, "TRIAL"},
    {TaskKind::kCommand, "COMMAND"},
    {TaskKind::kNotebook, "NOTEBOOK"},
    {TaskKind::kShell, "SHELL"},
    {TaskKind::kTensorboard, "TENSORBOARD"},
    {TaskKind::kGeneric, "GENERIC"},
};

constexpr Name<TaskState> kTaskStates[] = {
    {TaskState::kQueued, "QUEUED"},       {TaskState::kRunning, "RUNNING"},
    {TaskState::kPaused, "PAUSED"},       {TaskState::kStopping, "STOPPING"},
    {TaskState::kCompleted, "COMPLETED"}, {TaskState::kCanceled, "CANCELED"},
    {TaskState::kError, "ERROR"},
};

constexpr Name<AllocationState> kAllocationStates[] = {
    {AllocationState::kQueued, "QUEUED"},     {AllocationState::kAssigned, "ASSIGNED"},
    {AllocationState::kRunning, "RUNNING"},   {AllocationState::kPreempting, "PREEMPTING"},
    {AllocationState::kStopping, "STOPPING"}, {AllocationState::kTerminated, "TERMINATED"},
};

constexpr Name<ExitReason> kExitReasons[] = {
    {ExitReason::kNone, "NONE"},
    {ExitReason::kFinished, "FINISHED"},
    {ExitReason::kPreempted, "PREEMPTED"},
    {ExitReason::kStopped, "STOPPED"},
    {ExitReason::kFailed, "FAILED"},
    {ExitReason::kInvalidHp, "INVALID_HP"},
    {ExitReason::kInvalidCode, "INVALID_CODE"},
    {ExitReason::kNodeLost, "NODE_LOST"},
};

}  // namespace

std::string_view ToString(ExperimentState state) { return GetName(kExperimentStates, state); }
std::string_view ToString(CheckpointState state) { return GetName(kCheckpointStates, state); }
std::string_view ToString(TrialState state) { return GetName(kTrialStates, state); }
std::string_view ToString(TaskKind kind) { return GetName(kTaskKinds, kind); }
std::string_view ToString(TaskState state) { return GetName(kTaskStates, state); }
std::string_view ToString(AllocationState state) { return GetName(kAllocationStates, state); }
std::string_view ToString(ExitReason reason) { return GetName(kExitReasons, reason); }

std::optional<ExperimentState> ParseExperimentState(std::string_view text) {
  return ParseName(kExperimentStates, text);
}
std::optional<CheckpointState> ParseCheckpointState(std::string_view text) {
  return ParseName(kCheckpointStates, text);
}
std::optional<TrialState> ParseTrialState(std::string_view text) {
  return ParseName(kTrialStates, text);
}
std::optional<TaskKind> ParseTaskKind(std::string_view text) { return ParseName(kTaskKinds, text); }
std::optional<TaskState> ParseTaskState(std::string_view text) {
  return ParseName(kTaskStates, text);
}
std::optional<AllocationState> ParseAllocationState(std::string_view text) {
  return ParseName(kAllocationStates, text);
}
std::optional<ExitReason> ParseExitReason(std::string_view text) {
  return ParseName(kExitReasons, text);
}

bool IsTerminal(ExperimentState state) {
  return state == ExperimentState::kCompleted || state == ExperimentState::kCanceled ||
         state == ExperimentState::kError || IsDeletion(state);
}
bool IsDeletion(ExperimentState state) {
  return state == ExperimentState::kDeleting || state == ExperimentState::kDeleteFailed ||
         state == ExperimentState::kDeleted;
}
bool IsTerminal(TaskState state) {
  return state == TaskState::kCompleted || state == TaskState::kCanceled ||
         state == TaskState::kError;
}

bool IsTerminal(TrialState state) {
  return state == TrialState::kCompleted || state == TrialState::kCanceled ||
         state == TrialState::kError;
}

}  // namespace det::model
