// The files of checkpoints, read where they lie: in a folder that the master reaches, or in a
// bucket.
//
// Called by services, on threads that may block.
#ifndef MASTER_API_CHECKPOINTS_CHECKPOINT_FILES_H_
#define MASTER_API_CHECKPOINTS_CHECKPOINT_FILES_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/checkpoint_storage/checkpoint_bucket.h"
#include "master/core/model/reports.h"
#include "master/core/model/storage_config.h"

namespace det::api {

// The content of a file, piece by piece, each of at most 8 MiB; an empty one at its end. Blocks.
using Pieces = std::function<absl::StatusOr<std::string>()>;

// FAILED_PRECONDITION of one whose files are gone, or going.
absl::Status CheckFilesStay(const model::CheckpointRecord& checkpoint);

// `path`: one that the checkpoint lists; never leads out of the checkpoint, whatever a task has put
// there. FAILED_PRECONDITION when the master cannot reach it, NOT_FOUND when it leads elsewhere.
absl::StatusOr<Pieces> OpenCheckpointFile(const checkpoint_storage::Rules& rules,
                                          const model::CheckpointStorageConfig& storage,
                                          const model::CheckpointId& id, const std::string& path);

}  // namespace det::api

#endif  // MASTER_API_CHECKPOINTS_CHECKPOINT_FILES_H_
