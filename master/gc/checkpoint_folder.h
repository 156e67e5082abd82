// Removal of a checkpoint's files from a shared file system or a bucket. Called by GcThread on its
// thread; blocks on the disk or the network. Never follows a symbolic link that a task may have
// created, and never touches files outside of the folder.
#ifndef MASTER_GC_CHECKPOINT_FOLDER_H_
#define MASTER_GC_CHECKPOINT_FOLDER_H_

#include "absl/status/status.h"
#include "master/checkpoint_storage/checkpoint_bucket.h"
#include "master/core/model/file_globs.h"
#include "master/core/model/ids.h"
#include "master/core/model/storage_config.h"

namespace det::gc {

// Returns OK if the folder was removed or did not exist. FAILED_PRECONDITION tells why it cannot be
// removed: the storage is not reachable from this machine, its path leads elsewhere, or a file may
// not be removed.
absl::Status RemoveCheckpointFolder(const model::CheckpointStorageConfig& storage,
                                    const model::CheckpointId& id);

// Removes only these files, and folders that become empty; errors as above. Files behind a symbolic
// link are not part of the checkpoint and are kept.
absl::Status RemoveFromCheckpointFolder(const model::CheckpointStorageConfig& storage,
                                        const model::CheckpointId& id,
                                        const model::Resources& files);

// The same for a checkpoint in a folder or a bucket. UNAVAILABLE: the bucket's server does not
// respond; the next pass tries again.
absl::Status RemoveCheckpointFiles(const checkpoint_storage::Rules& rules,
                                   const model::CheckpointStorageConfig& storage,
                                   const model::CheckpointId& id);
absl::Status RemoveSomeCheckpointFiles(const checkpoint_storage::Rules& rules,
                                       const model::CheckpointStorageConfig& storage,
                                       const model::CheckpointId& id,
                                       const model::Resources& files);

}  // namespace det::gc

#endif  // MASTER_GC_CHECKPOINT_FOLDER_H_
