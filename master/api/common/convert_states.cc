// Converts states of the API to states of the model.
#include <optional>
#include <vector>

#include "master/api/common/convert.h"

namespace det::api {

using model::ExperimentState;
using model::TrialState;

std::optional<ExperimentState> FromProto(v1::Experiment::State state) {
  switch (state) {
    case v1::Experiment::STATE_ACTIVE:
    case v1::Experiment::STATE_QUEUED:
    case v1::Experiment::STATE_PULLING:
    case v1::Experiment::STATE_STARTING:
    case v1::Experiment::STATE_RUNNING:
      return ExperimentState::kActive;
    case v1::Experiment::STATE_PAUSED:
      return ExperimentState::kPaused;
    case v1::Experiment::STATE_STOPPING_COMPLETED:
      return ExperimentState::kStoppingCompleted;
    case v1::Experiment::STATE_STOPPING_CANCELED:
    case v1::Experiment::STATE_STOPPING_KILLED:
      return ExperimentState::kStoppingCanceled;
    case v1::Experiment::STATE_STOPPING_ERROR:
      return ExperimentState::kStoppingError;
    case v1::Experiment::STATE_COMPLETED:
      return ExperimentState::kCompleted;
    case v1::Experiment::STATE_CANCELED:
      return ExperimentState::kCanceled;
    case v1::Experiment::STATE_ERROR:
      return ExperimentState::kError;
    case v1::Experiment::STATE_DELETING:
      return ExperimentState::kDeleting;
    case v1::Experiment::STATE_DELETE_FAILED:
      return ExperimentState::kDeleteFailed;
    case v1::Experiment::STATE_DELETED:
      return ExperimentState::kDeleted;
    default:
      return std::nullopt;
  }
}

std::vector<model::CheckpointState> FromProto(v1::Checkpoint::State state) {
  switch (state) {
    case v1::Checkpoint::STATE_COMPLETED:
      return {model::CheckpointState::kCompleted};
    case v1::Checkpoint::STATE_ERROR:
      return {model::CheckpointState::kError};
    case v1::Checkpoint::STATE_PARTIALLY_DELETED:
      return {model::CheckpointState::kPartiallyDeleted};
    case v1::Checkpoint::STATE_DELETED:
      return {model::CheckpointState::kDeleting, model::CheckpointState::kDeleted};
    default:
      return {};
  }
}

std::optional<TrialState> FromProto(v1::Trial::State state) {
  switch (state) {
    case v1::Trial::STATE_QUEUED:
      return TrialState::kQueued;
    case v1::Trial::STATE_ACTIVE:
    case v1::Trial::STATE_PULLING:
    case v1::Trial::STATE_STARTING:
    case v1::Trial::STATE_RUNNING:
      return TrialState::kRunning;
    case v1::Trial::STATE_PAUSED:
      return TrialState::kPaused;
    case v1::Trial::STATE_STOPPING_CANCELED:
    case v1::Trial::STATE_STOPPING_KILLED:
    case v1::Trial::STATE_STOPPING_COMPLETED:
    case v1::Trial::STATE_STOPPING_ERROR:
      return TrialState::kStopping;
    case v1::Trial::STATE_CANCELED:
      return TrialState::kCanceled;
    case v1::Trial::STATE_COMPLETED:
      return TrialState::kCompleted;
    case v1::Trial::STATE_ERROR:
      return TrialState::kError;
    default:
      return std::nullopt;
  }
}

}  // namespace det::api
