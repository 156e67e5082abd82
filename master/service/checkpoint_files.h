// The files of checkpoints, read where they lie: in a folder that the master reaches, or in a
// bucket.
//
// Called by services, on threads that may block.
#ifndef MASTER_SERVICE_CHECKPOINT_FILES_H_
#define MASTER_SERVICE_CHECKPOINT_FILES_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/buckets/checkpoint_bucket.h"
#include "master/model/reports.h"
#include "master/model/storage_config.h"

namespace det::service {

// The content of a file, piece by piece, each of at most 8 MiB; an empty one at its end. Blocks.
using Pieces = std::function<absl::StatusOr<std::string>()>;

// FAILED_PRECONDITION of one whose files are gone, or going.
absl::Status CheckFilesStay(const model::CheckpointRecord& checkpoint);

// `path`: one that the checkpoint lists; never leads out of the checkpoint, whatever a task has put
// there. FAILED_PRECONDITION when the master cannot reach it, NOT_FOUND when it leads elsewhere.
absl::StatusOr<Pieces> OpenCheckpointFile(const buckets::Rules& rules,
                                          const model::CheckpointStorageConfig& storage,
                                          const model::CheckpointId& id, const std::string& path);

}  // namespace det::service

#endif  // MASTER_SERVICE_CHECKPOINT_FILES_H_
