// Reads the files of checkpoints from their storage: a directory that the master can access, or a
// bucket.
//
// Called by services on the pool; blocks.
#ifndef MASTER_API_CHECKPOINTS_CHECKPOINT_FILES_H_
#define MASTER_API_CHECKPOINTS_CHECKPOINT_FILES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/checkpoint_storage/checkpoint_bucket.h"
#include "master/core/experiment/experiment.h"
#include "master/core/model/reports.h"
#include "master/core/model/storage_config.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// Returns the next chunk of a file, at most 8 MiB, or an empty string at its end. Blocks.
using ChunkReader = std::function<absl::StatusOr<std::string>()>;

// Returns FAILED_PRECONDITION if the checkpoint's files are deleted or being deleted.
absl::Status CheckFilesNotDeleted(const model::CheckpointRecord& checkpoint);

// Opens a file of the checkpoint. Does not follow links out of the checkpoint's directory, which a
// task may have created. Returns FAILED_PRECONDITION if the master cannot access the file,
// NOT_FOUND if it is outside the directory.
absl::StatusOr<ChunkReader> OpenCheckpointFile(const checkpoint_storage::Rules& rules,
                                               const model::CheckpointStorageConfig& storage,
                                               const model::CheckpointId& id,
                                               const std::string& path);

// Returns the paths of the files that the storage has of a checkpoint. Returns FAILED_PRECONDITION
// if the master cannot access the storage, or if it is an empty directory, which may be a mount
// point without its file system.
absl::StatusOr<std::set<std::string>> ListCheckpointFiles(
    const checkpoint_storage::Rules& rules, const model::CheckpointStorageConfig& storage,
    const model::CheckpointId& id);

}  // namespace det::api

#endif  // MASTER_API_CHECKPOINTS_CHECKPOINT_FILES_H_
