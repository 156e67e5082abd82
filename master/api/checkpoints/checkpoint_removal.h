// Selects the checkpoint files that a request removes: all files, or some. Checkpoints that others
// use are kept.
//
// Called by services on the pool; blocks.
#ifndef MASTER_API_CHECKPOINTS_CHECKPOINT_REMOVAL_H_
#define MASTER_API_CHECKPOINTS_CHECKPOINT_REMOVAL_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/core/cluster/event.h"
#include "master/core/model/file_globs.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// Removes checkpoints that are in use from the event, and returns them. `experiments` are those to
// which the checkpoints of the event belong.
absl::StatusOr<std::vector<store::HeldCheckpoint>> ExcludeHeld(
    store::Store& store, const std::set<model::ExperimentId>& experiments,
    cluster::DeleteCheckpoints* event);

struct CheckpointRemoval {
  cluster::DeleteCheckpoints event;
  std::vector<store::HeldCheckpoint> kept;
  std::vector<model::CheckpointId> unmatched;  // no file of them matches
  bool empty() const { return event.ids.empty() && event.trims.empty(); }
};
// Plans the removal of the files that match `globs`, or of all files if `globs` is empty. Returns
// NOT_FOUND if a checkpoint does not exist, INVALID_ARGUMENT for an invalid pattern.
absl::StatusOr<CheckpointRemoval> PlanRemoval(store::Store& store,
                                              const std::vector<std::string>& uuids,
                                              const model::Globs& globs);

// Adds the removal of all files except `remaining` to the event. A task reports this after it has
// deleted the other files itself. Returns INVALID_ARGUMENT if `remaining` has a file that is not in
// the checkpoint.
absl::Status PlanRemovalExcept(const model::Resources& remaining,
                               const model::CheckpointRecord& checkpoint,
                               cluster::DeleteCheckpoints* event);

}  // namespace det::api

#endif  // MASTER_API_CHECKPOINTS_CHECKPOINT_REMOVAL_H_
