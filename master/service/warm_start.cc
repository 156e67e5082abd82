#include "master/service/warm_start.h"

#include "absl/strings/str_cat.h"

namespace det::service {
namespace {

absl::Status InField(const char* field, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("searcher.", field, ": ", status.message()));
}

}  // namespace

absl::StatusOr<std::optional<WarmStart>> FindWarmStart(store::Store& store,
                                                      const model::SearcherConfig& config) {
  if (!config.source_checkpoint_uuid.empty()) {
    const model::CheckpointId id(config.source_checkpoint_uuid);
    const auto entry = store.GetCheckpoint(id);
    if (!entry.ok()) return InField("source_checkpoint_uuid", entry.status());
    if (entry->checkpoint.state == model::CheckpointState::kCompleted) {
      return WarmStart{id, entry->experiment};
    }
    return InField("source_checkpoint_uuid",
                   absl::FailedPreconditionError(
                       absl::StrCat("checkpoint ", id.value(), " is ",
                                    std::string(model::ToString(entry->checkpoint.state)),
                                    "; only COMPLETED ones can be started from")));
  }
  if (!config.source_trial_id) return std::nullopt;
  const model::TrialId trial(*config.source_trial_id);
  const auto record = store.GetTrial(trial);
  if (!record.ok()) return InField("source_trial_id", record.status());
  store::CheckpointQuery query;
  query.trial = trial;
  query.states = {model::CheckpointState::kCompleted};
  const auto page = store.ListCheckpoints(query);
  if (!page.ok()) return InField("source_trial_id", page.status());
  const store::CheckpointEntry* newest = nullptr;
  for (const store::CheckpointEntry& entry : page->checkpoints) {
    const bool is_latest = entry.checkpoint.id == record->trial.latest_checkpoint;
    if (is_latest) return WarmStart{entry.checkpoint.id, entry.experiment};
    newest = &entry;  // the list is by time
  }
  if (newest != nullptr) return WarmStart{newest->checkpoint.id, newest->experiment};
  return InField("source_trial_id",
                 absl::NotFoundError(absl::StrCat("trial ", *config.source_trial_id,
                                                  " has no checkpoint to start from")));
}

}  // namespace det::service
