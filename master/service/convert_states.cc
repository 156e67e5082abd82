// The states of the API as states of the model.
#include "master/service/convert.h"

namespace det::service {

namespace api = det::api::v1;

using model::ExperimentState;
using model::TrialState;

std::optional<ExperimentState> FromProto(api::Experiment::State state) {
  switch (state) {
    case api::Experiment::STATE_ACTIVE:
    case api::Experiment::STATE_QUEUED:
    case api::Experiment::STATE_PULLING:
    case api::Experiment::STATE_STARTING:
    case api::Experiment::STATE_RUNNING:
      return ExperimentState::kActive;
    case api::Experiment::STATE_PAUSED:
      return ExperimentState::kPaused;
    case api::Experiment::STATE_STOPPING_COMPLETED:
      return ExperimentState::kStoppingCompleted;
    case api::Experiment::STATE_STOPPING_CANCELED:
    case api::Experiment::STATE_STOPPING_KILLED:
      return ExperimentState::kStoppingCanceled;
    case api::Experiment::STATE_STOPPING_ERROR:
      return ExperimentState::kStoppingError;
    case api::Experiment::STATE_COMPLETED:
      return ExperimentState::kCompleted;
    case api::Experiment::STATE_CANCELED:
      return ExperimentState::kCanceled;
    case api::Experiment::STATE_ERROR:
      return ExperimentState::kError;
    case api::Experiment::STATE_DELETING:
      return ExperimentState::kDeleting;
    case api::Experiment::STATE_DELETE_FAILED:
      return ExperimentState::kDeleteFailed;
    case api::Experiment::STATE_DELETED:
      return ExperimentState::kDeleted;
    default:
      return std::nullopt;
  }
}

std::vector<model::CheckpointState> FromProto(api::Checkpoint::State state) {
  switch (state) {
    case api::Checkpoint::STATE_COMPLETED:
      return {model::CheckpointState::kCompleted};
    case api::Checkpoint::STATE_ERROR:
      return {model::CheckpointState::kError};
    case api::Checkpoint::STATE_PARTIALLY_DELETED:
      return {model::CheckpointState::kPartiallyDeleted};
    case api::Checkpoint::STATE_DELETED:
      return {model::CheckpointState::kDeleting, model::CheckpointState::kDeleted};
    default:
      return {};
  }
}

std::optional<TrialState> FromProto(api::Trial::State state) {
  switch (state) {
    case api::Trial::STATE_QUEUED:
      return TrialState::kQueued;
    case api::Trial::STATE_ACTIVE:
    case api::Trial::STATE_PULLING:
    case api::Trial::STATE_STARTING:
    case api::Trial::STATE_RUNNING:
      return TrialState::kRunning;
    case api::Trial::STATE_PAUSED:
      return TrialState::kPaused;
    case api::Trial::STATE_STOPPING_CANCELED:
    case api::Trial::STATE_STOPPING_KILLED:
    case api::Trial::STATE_STOPPING_COMPLETED:
    case api::Trial::STATE_STOPPING_ERROR:
      return TrialState::kStopping;
    case api::Trial::STATE_CANCELED:
      return TrialState::kCanceled;
    case api::Trial::STATE_COMPLETED:
      return TrialState::kCompleted;
    case api::Trial::STATE_ERROR:
      return TrialState::kError;
    default:
      return std::nullopt;
  }
}

}  // namespace det::service
