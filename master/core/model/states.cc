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

std::string_view ToString(ExperimentState state) { return TextOf(kExperimentStates, state); }
std::string_view ToString(CheckpointState state) { return TextOf(kCheckpointStates, state); }
std::string_view ToString(TrialState state) { return TextOf(kTrialStates, state); }
std::string_view ToString(AllocationState state) { return TextOf(kAllocationStates, state); }
std::string_view ToString(ExitReason reason) { return TextOf(kExitReasons, reason); }

std::optional<ExperimentState> ParseExperimentState(std::string_view text) {
  return ValueOf(kExperimentStates, text);
}
std::optional<CheckpointState> ParseCheckpointState(std::string_view text) {
  return ValueOf(kCheckpointStates, text);
}
std::optional<TrialState> ParseTrialState(std::string_view text) {
  return ValueOf(kTrialStates, text);
}
std::optional<AllocationState> ParseAllocationState(std::string_view text) {
  return ValueOf(kAllocationStates, text);
}
std::optional<ExitReason> ParseExitReason(std::string_view text) {
  return ValueOf(kExitReasons, text);
}

bool IsTerminal(ExperimentState state) {
  return state == ExperimentState::kCompleted || state == ExperimentState::kCanceled ||
         state == ExperimentState::kError || IsDeletion(state);
}
bool IsDeletion(ExperimentState state) {
  return state == ExperimentState::kDeleting || state == ExperimentState::kDeleteFailed ||
         state == ExperimentState::kDeleted;
}
bool IsTerminal(TrialState state) {
  return state == TrialState::kCompleted || state == TrialState::kCanceled ||
         state == TrialState::kError;
}

}  // namespace det::model
