// Selects the checkpoint files that a request removes: all files, or some. A request that names a
// checkpoint which others use is refused.
//
// Called by services on the pool; blocks.
#ifndef MASTER_API_CHECKPOINTS_CHECKPOINT_REMOVAL_H_
#define MASTER_API_CHECKPOINTS_CHECKPOINT_REMOVAL_H_

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/core/cluster/event.h"
#include "master/core/model/file_globs.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// Returns the checkpoint. Returns INVALID_ARGUMENT if `uuid` is not a UUID, NOT_FOUND if there is
// no such checkpoint.
absl::StatusOr<store::CheckpointEntry> FindCheckpoint(store::Store& store, const std::string& uuid);

// Removes checkpoints that are in use from the event, and returns them. `experiments` are those to
// which the checkpoints of the event belong.
absl::StatusOr<std::vector<store::HeldCheckpoint>> ExcludeHeld(
    store::Store& store, const std::set<model::ExperimentId>& experiments,
    cluster::DeleteCheckpoints* event);

struct CheckpointRemoval {
  cluster::DeleteCheckpoints event;
  std::vector<model::CheckpointId> unmatched;  // no file of them matches
  bool empty() const { return event.ids.empty() && event.trims.empty(); }
};
// Plans the removal of the files that match `globs`. Returns NOT_FOUND if a checkpoint does not
// exist, INVALID_ARGUMENT for an invalid pattern or if a checkpoint is in use.
absl::StatusOr<CheckpointRemoval> PlanRemoval(store::Store& store,
                                              const std::vector<std::string>& uuids,
                                              const model::Globs& globs);

// Returns the paths of a checkpoint's files in its storage.
using ListFiles = std::function<absl::StatusOr<std::set<std::string>>(
    const model::CheckpointStorageConfig& storage, const model::CheckpointId& id)>;
// Plans the removal of the files that are no longer in the storage, so that nothing is deleted
// there. Skips checkpoints that the master cannot reach: see CheckReachable. Returns NOT_FOUND if a
// checkpoint does not exist, INVALID_ARGUMENT if it is in use, and the errors of `list_files`.
absl::StatusOr<CheckpointRemoval> PlanRefresh(store::Store& store,
                                              const std::vector<std::string>& uuids,
                                              const ListFiles& list_files);

// Adds the removal of all files except `remaining` to the event. A task reports this after it has
// deleted the other files itself. Returns INVALID_ARGUMENT if `remaining` has a file that is not in
// the checkpoint.
absl::Status PlanRemovalExcept(const model::Resources& remaining,
                               const model::CheckpointRecord& checkpoint,
                               cluster::DeleteCheckpoints* event);

}  // namespace det::api

#endif  // MASTER_API_CHECKPOINTS_CHECKPOINT_REMOVAL_H_
