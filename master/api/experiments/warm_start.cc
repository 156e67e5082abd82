#include "master/api/experiments/warm_start.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace det::api {
namespace {

absl::Status AddField(const char* field, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("searcher.", field, ": ", status.message()));
}

// Returns FAILED_PRECONDITION if the checkpoint's experiment is being deleted.
absl::StatusOr<std::optional<WarmStart>> ToWarmStart(store::Store& store,
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

// Returns the trial's latest checkpoint, or the newest in `page` if the latest is not in it; null
// if `page` is empty.
const store::CheckpointEntry* FindNewest(const store::CheckpointPage& page,
                                         const experiment::Trial& trial) {
  const store::CheckpointEntry* newest = nullptr;
  for (const store::CheckpointEntry& entry : page.checkpoints) {  // sorted by time
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
    if (!entry.ok()) return AddField("source_checkpoint_uuid", entry.status());
    if (entry->checkpoint.state != model::CheckpointState::kCompleted) {
      return AddField("source_checkpoint_uuid",
                      absl::FailedPreconditionError(
                          absl::StrCat("checkpoint ", id.value(), " is ",
                                       std::string(model::ToString(entry->checkpoint.state)),
                                       "; a trial can start only from a COMPLETED checkpoint")));
    }
    const auto start = ToWarmStart(store, *entry);
    if (!start.ok()) return AddField("source_checkpoint_uuid", start.status());
    return start;
  }
  if (!config.source_trial_id) return std::nullopt;
  const model::TrialId trial(*config.source_trial_id);
  const auto record = store.GetBareTrial(trial);
  if (!record.ok()) return AddField("source_trial_id", record.status());
  store::CheckpointQuery query;
  query.trial = trial;
  query.states = {model::CheckpointState::kCompleted};
  const auto page = store.ListCheckpoints(query);
  if (!page.ok()) return AddField("source_trial_id", page.status());
  if (const store::CheckpointEntry* newest = FindNewest(*page, record->trial)) {
    const auto start = ToWarmStart(store, *newest);
    if (!start.ok()) return AddField("source_trial_id", start.status());
    return start;
  }
  return AddField("source_trial_id",
                  absl::NotFoundError(absl::StrCat("trial ", *config.source_trial_id,
                                                   " has no COMPLETED checkpoint")));
}

}  // namespace det::api
