// What goes of checkpoints by what somebody asked: all of their files, or some. What others hold
// stays.
//
// Called by services, on threads that may block.
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

// Takes what is held out of the event; the checkpoints are of these experiments.
absl::StatusOr<std::vector<store::HeldCheckpoint>> KeepHeld(
    store::Store& store, const std::set<model::ExperimentId>& experiments,
    cluster::DeleteCheckpoints* event);

struct CheckpointRemoval {
  cluster::DeleteCheckpoints event;
  std::vector<store::HeldCheckpoint> kept;
  std::vector<model::CheckpointId> unmatched;  // have no file that is named
  bool empty() const { return event.ids.empty() && event.trims.empty(); }
};
// The files that `globs` name, or all where there are none. NOT_FOUND where one of the checkpoints
// is not known, INVALID_ARGUMENT for a pattern that can name nothing.
absl::StatusOr<CheckpointRemoval> PlanRemoval(store::Store& store,
                                              const std::vector<std::string>& uuids,
                                              const model::Globs& globs);

// Adds what is to go so that `left` stays, as a task tells that has removed the rest itself.
// INVALID_ARGUMENT where that lists what the checkpoint does not.
absl::Status RemoveAllBut(const model::Resources& left, const model::CheckpointRecord& checkpoint,
                          cluster::DeleteCheckpoints* event);

}  // namespace det::api

#endif  // MASTER_API_CHECKPOINTS_CHECKPOINT_REMOVAL_H_
