#include "master/store/interfaces/retainable.h"

#include <set>

#include "base/status_macros.h"

namespace det::store {

absl::StatusOr<std::vector<experiment::Retainable>> ListRetainable(Store& store,
                                                                   model::ExperimentId id) {
  CheckpointQuery query;
  query.experiment = id;
  query.states = {model::CheckpointState::kCompleted, model::CheckpointState::kPartiallyDeleted};
  DET_ASSIGN_OR_RETURN(const CheckpointPage page, store.ListCheckpoints(query));
  DET_ASSIGN_OR_RETURN(const std::vector<HeldCheckpoint> held, store.disposal().ListHeld(id));
  std::set<model::CheckpointId> stay;
  for (const HeldCheckpoint& each : held) stay.insert(each.id);
  std::vector<experiment::Retainable> all;
  for (const CheckpointEntry& entry : page.checkpoints) {
    const model::CheckpointRecord& checkpoint = entry.checkpoint;
    all.push_back({.id = checkpoint.id,
                   .trial = checkpoint.trial,
                   .steps = checkpoint.steps_completed,
                   .time = checkpoint.time,
                   .metric = entry.searcher_metric,
                   .held = stay.contains(checkpoint.id),
                   .whole = checkpoint.state == model::CheckpointState::kCompleted});
  }
  return all;
}

}  // namespace det::store
