// Removal of the TensorBoard files of an experiment from its checkpoint storage, where its trials
// store them beside the checkpoints: <cluster id>/tensorboard/experiment/<id>/trial/<id>/...
//
// Any thread; blocks on the disk or the network. Never follows a symbolic link that a task may have
// created.
#ifndef MASTER_CHECKPOINT_STORAGE_TENSORBOARD_FILES_H_
#define MASTER_CHECKPOINT_STORAGE_TENSORBOARD_FILES_H_

#include <string>

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

}  // namespace det::checkpoint_storage

#endif  // MASTER_CHECKPOINT_STORAGE_TENSORBOARD_FILES_H_
