#include "master/api/experiments/warm_start.h"

#include "absl/strings/str_cat.h"

namespace det::api {
namespace {

absl::Status InField(const char* field, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("searcher.", field, ": ", status.message()));
}

// FAILED_PRECONDITION where the checkpoint's experiment is being deleted.
absl::StatusOr<std::optional<WarmStart>> Use(store::Store& store,
                                             const store::CheckpointEntry& entry) {
  const auto owner = store.GetExperiment(entry.experiment);
  if (!owner.ok()) return owner.status();
  if (!model::IsDeletion(owner->experiment.state)) {
    return WarmStart{entry.checkpoint.id, entry.experiment};
  }
  return absl::FailedPreconditionError(
      absl::StrCat("checkpoint ", entry.checkpoint.id.value(), " belongs to experiment ",
                   entry.experiment.value(), ", which is ",
                   std::string(model::ToString(owner->experiment.state))));
}

// The newest checkpoint of the trial whose files are there; null: none.
const store::CheckpointEntry* Newest(const store::CheckpointPage& page,
                                     const experiment::Trial& trial) {
  const store::CheckpointEntry* newest = nullptr;
  for (const store::CheckpointEntry& entry : page.checkpoints) {  // by time
    newest = &entry;
    if (entry.checkpoint.id == trial.latest_checkpoint) break;
  }
  return newest;
}

}  // namespace

absl::StatusOr<std::optional<WarmStart>> FindWarmStart(store::Store& store,
                                                       const model::SearcherConfig& config) {
  if (!config.source_checkpoint_uuid.empty()) {
    const model::CheckpointId id(config.source_checkpoint_uuid);
    const auto entry = store.GetCheckpoint(id);
    if (!entry.ok()) return InField("source_checkpoint_uuid", entry.status());
    if (entry->checkpoint.state != model::CheckpointState::kCompleted) {
      return InField("source_checkpoint_uuid",
                     absl::FailedPreconditionError(
                         absl::StrCat("checkpoint ", id.value(), " is ",
                                      std::string(model::ToString(entry->checkpoint.state)),
                                      "; only COMPLETED ones can be started from")));
    }
    const auto start = Use(store, *entry);
    if (!start.ok()) return InField("source_checkpoint_uuid", start.status());
    return start;
  }
  if (!config.source_trial_id) return std::nullopt;
  const model::TrialId trial(*config.source_trial_id);
  const auto record = store.GetBareTrial(trial);
  if (!record.ok()) return InField("source_trial_id", record.status());
  store::CheckpointQuery query;
  query.trial = trial;
  query.states = {model::CheckpointState::kCompleted};
  const auto page = store.ListCheckpoints(query);
  if (!page.ok()) return InField("source_trial_id", page.status());
  if (const store::CheckpointEntry* newest = Newest(*page, record->trial)) {
    const auto start = Use(store, *newest);
    if (!start.ok()) return InField("source_trial_id", start.status());
    return start;
  }
  return InField("source_trial_id",
                 absl::NotFoundError(absl::StrCat("trial ", *config.source_trial_id,
                                                  " has no checkpoint to start from")));
}

}  // namespace det::api
