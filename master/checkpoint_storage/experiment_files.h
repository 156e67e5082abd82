// Removal of an experiment's files beside its checkpoints, which its trials store in the checkpoint
// storage: TensorBoard files in <cluster id>/tensorboard/experiment/<id>/trial/<id>/..., and what
// killed saves left: .tmp-<owner>-<uuid> folders, or the objects that owners/<owner>/<uuid> names,
// where the owner is <cluster id>-trial-<id> (trial_api/python/README.md).
//
// Any thread; blocks on the disk or the network. Never follows a symbolic link that a task may have
// created.
#ifndef MASTER_CHECKPOINT_STORAGE_EXPERIMENT_FILES_H_
#define MASTER_CHECKPOINT_STORAGE_EXPERIMENT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "master/checkpoint_storage/checkpoint_bucket.h"
#include "master/core/model/ids.h"
#include "master/core/model/storage_config.h"

namespace det::checkpoint_storage {

// Returns OK if the files were removed or did not exist. FAILED_PRECONDITION tells why they cannot
// be removed: the master cannot reach or may not access the storage, or a file may not be removed.
// UNAVAILABLE: the bucket's server does not respond.
absl::Status RemoveTensorboardFiles(const Rules& rules,
                                    const model::CheckpointStorageConfig& storage,
                                    const std::string& cluster_id, model::ExperimentId id);

// Removes the TensorBoard files and the incomplete checkpoints of these trials of an experiment
// that is being deleted. Errors as above, but OK if a folder of the storage does not exist on this
// machine: the experiment has stored nothing that the master could remove.
absl::Status RemoveExperimentFiles(const Rules& rules,
                                   const model::CheckpointStorageConfig& storage,
                                   const std::string& cluster_id, model::ExperimentId id,
                                   const std::vector<model::TrialId>& trials);

}  // namespace det::checkpoint_storage

#endif  // MASTER_CHECKPOINT_STORAGE_EXPERIMENT_FILES_H_
