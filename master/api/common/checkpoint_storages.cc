#include "master/api/common/checkpoint_storages.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"

namespace det::api {

absl::StatusOr<model::CheckpointStorageConfig> CheckpointStorages::Find(
    const model::CheckpointRecord& checkpoint,
    const model::CheckpointStorageConfig& of_experiment) {
  if (!checkpoint.storage) return of_experiment;
  auto found = registered_.find(*checkpoint.storage);
  if (found == registered_.end()) {
    DET_ASSIGN_OR_RETURN(const model::Value config,
                         store_.detached().GetCheckpointStorage(*checkpoint.storage));
    found = registered_.emplace(*checkpoint.storage, store::ToStorageConfig(config)).first;
  }
  return found->second;
}

absl::Status CheckReachable(const experiment::Experiment& experiment,
                            const model::CheckpointStorageConfig& storage) {
  if (!store::IsOutside(experiment, storage)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the master cannot reach the checkpoints of experiment ", experiment.id.value(),
                   ", which ran outside of the cluster: they are in ",
                   model::CheckpointDirectory(storage), " of the machine where it ran"));
}

}  // namespace det::api
