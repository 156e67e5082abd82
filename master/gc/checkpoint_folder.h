// The folder of a checkpoint on a shared file system, and its removal; one in a bucket is removed
// there. Called by Sweep on its thread; waits for the disk or the network. Never follows a link
// that a task may have made, never touches anything outside of the folder.
#ifndef MASTER_GC_CHECKPOINT_FOLDER_H_
#define MASTER_GC_CHECKPOINT_FOLDER_H_

#include "absl/status/status.h"
#include "master/checkpoint_storage/checkpoint_bucket.h"
#include "master/core/model/file_globs.h"
#include "master/core/model/ids.h"
#include "master/core/model/storage_config.h"

namespace det::gc {

// OK when it is gone, also if it was before. FAILED_PRECONDITION says what stands in the way: the
// storage cannot be reached from here, its folder leads elsewhere, a file may not be removed.
absl::Status RemoveCheckpointFolder(const model::CheckpointStorageConfig& storage,
                                    const model::CheckpointId& id);

// These files of it alone, and the folders that have none left; OK as above. What lies behind a
// link is not of the checkpoint, and stays.
absl::Status RemoveFromCheckpointFolder(const model::CheckpointStorageConfig& storage,
                                        const model::CheckpointId& id,
                                        const model::Resources& files);

// Both wherever it lies. UNAVAILABLE: the bucket's server is away, which is tried again by the
// next pass.
absl::Status RemoveCheckpointFiles(const checkpoint_storage::Rules& rules,
                                   const model::CheckpointStorageConfig& storage,
                                   const model::CheckpointId& id);
absl::Status RemoveFilesOfCheckpoint(const checkpoint_storage::Rules& rules,
                                     const model::CheckpointStorageConfig& storage,
                                     const model::CheckpointId& id, const model::Resources& files);

}  // namespace det::gc

#endif  // MASTER_GC_CHECKPOINT_FOLDER_H_
