#include "master/service/warm_start.h"

#include "absl/strings/str_cat.h"

namespace det::service {
namespace {

absl::Status InField(const char* field, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("searcher.", field, ": ", status.message()));
}

}  // namespace

absl::StatusOr<std::optional<model::CheckpointId>> FindWarmStart(
    store::Store& store, const model::SearcherConfig& config) {
  if (!config.source_checkpoint_uuid.empty()) {
    const model::CheckpointId id(config.source_checkpoint_uuid);
    const auto checkpoint = store.GetCheckpoint(id);
    if (!checkpoint.ok()) return InField("source_checkpoint_uuid", checkpoint.status());
    return id;
  }
  if (!config.source_trial_id) return std::nullopt;
  const auto record = store.GetTrial(model::TrialId(*config.source_trial_id));
  if (!record.ok()) return InField("source_trial_id", record.status());
  if (record->trial.latest_checkpoint) return record->trial.latest_checkpoint;
  return InField("source_trial_id",
                 absl::NotFoundError(absl::StrCat("trial ", *config.source_trial_id,
                                                  " has no checkpoint to start from")));
}

}  // namespace det::service
