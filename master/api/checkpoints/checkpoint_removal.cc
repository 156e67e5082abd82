#include "master/api/checkpoints/checkpoint_removal.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/api/checkpoints/checkpoint_files.h"

namespace det::api {

absl::StatusOr<std::vector<store::HeldCheckpoint>> ExcludeHeld(
    store::Store& store, const std::set<model::ExperimentId>& experiments,
    cluster::DeleteCheckpoints* event) {
  std::vector<store::HeldCheckpoint> kept;
  for (const model::ExperimentId& experiment : experiments) {
    DET_ASSIGN_OR_RETURN(const auto held,
                         store.garbage_collection().ListHeldCheckpoints(experiment));
    for (const store::HeldCheckpoint& checkpoint : held) {
      const auto trims =
          std::erase_if(event->trims, [&](const auto& trim) { return trim.id == checkpoint.id; });
      if (std::erase(event->ids, checkpoint.id) + trims > 0) kept.push_back(checkpoint);
    }
  }
  return kept;
}

absl::StatusOr<CheckpointRemoval> PlanRemoval(store::Store& store,
                                              const std::vector<std::string>& uuids,
                                              const model::Globs& globs) {
  DET_RETURN_IF_ERROR(model::CheckGlobs(globs));
  const bool all = globs.empty() || model::MatchesAllFiles(globs);
  CheckpointRemoval removal;
  std::set<model::ExperimentId> experiments;
  for (const std::string& uuid : uuids) {
    DET_ASSIGN_OR_RETURN(const store::CheckpointEntry entry,
                         store.GetCheckpoint(model::CheckpointId(uuid)));
    const model::CheckpointRecord& checkpoint = entry.checkpoint;
    experiments.insert(entry.experiment);
    if (all) {
      removal.event.ids.push_back(checkpoint.id);
    } else if (CheckFilesNotDeleted(checkpoint).ok() &&
               model::MatchesFiles(checkpoint.resources, globs)) {
      removal.event.trims.push_back({checkpoint.id, globs});
    } else {
      removal.unmatched.push_back(checkpoint.id);
    }
  }
  DET_ASSIGN_OR_RETURN(removal.kept, ExcludeHeld(store, experiments, &removal.event));
  return removal;
}

absl::Status PlanRemovalExcept(const model::Resources& remaining,
                               const model::CheckpointRecord& checkpoint,
                               cluster::DeleteCheckpoints* event) {
  for (const auto& [path, bytes] : remaining) {
    if (checkpoint.resources.contains(path)) continue;
    return absl::InvalidArgumentError(absl::StrCat("checkpoint ", checkpoint.id.value(),
                                                   " has no file ", path,
                                                   "; list only files of the checkpoint"));
  }
  if (!model::HasFiles(remaining)) {
    event->ids.push_back(checkpoint.id);
    return absl::OkStatus();
  }
  cluster::TrimCheckpoint trim{checkpoint.id, {}};
  for (const auto& [path, bytes] : checkpoint.resources) {
    if (!remaining.contains(path) && !absl::EndsWith(path, "/")) {
      trim.globs.push_back(model::ToGlob(path));
    }
  }
  if (!trim.globs.empty()) event->trims.push_back(std::move(trim));
  return absl::OkStatus();
}

}  // namespace det::api
