#include "master/api/checkpoints/checkpoint_removal.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/uuid.h"
#include "master/api/checkpoints/checkpoint_files.h"
#include "master/api/common/checkpoint_storages.h"
#include "master/api/common/convert.h"
#include "master/store/interfaces/canonical.h"

namespace det::api {

absl::StatusOr<store::CheckpointEntry> FindCheckpoint(store::Store& store,
                                                      const std::string& uuid) {
  const model::CheckpointId id = ReadCheckpointId(uuid);
  absl::StatusOr<store::CheckpointEntry> found = store.GetCheckpoint(id);
  if (absl::IsNotFound(found.status()) && !base::IsUuid(id.value())) {
    return absl::InvalidArgumentError(absl::StrCat("checkpoint \"", uuid, "\" is not a UUID"));
  }
  return found;
}

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

namespace {

// Plans one removal for each checkpoint by `plan`, and refuses the request if a checkpoint is in
// use.
absl::StatusOr<CheckpointRemoval> PlanEach(
    store::Store& store, const std::vector<std::string>& uuids,
    const std::function<absl::Status(const store::CheckpointEntry&, CheckpointRemoval*)>& plan) {
  CheckpointRemoval removal;
  std::set<model::ExperimentId> experiments;
  for (const std::string& uuid : uuids) {
    DET_ASSIGN_OR_RETURN(const store::CheckpointEntry entry, FindCheckpoint(store, uuid));
    experiments.insert(entry.experiment);
    DET_RETURN_IF_ERROR(plan(entry, &removal));
  }
  DET_ASSIGN_OR_RETURN(const auto held, ExcludeHeld(store, experiments, &removal.event));
  if (held.empty()) return removal;
  const auto format = [](std::string* out, const store::HeldCheckpoint& each) {
    absl::StrAppend(out, each.id.value(), " by ", each.holder);
  };
  return absl::InvalidArgumentError(
      absl::StrCat("these checkpoints are in use: ", absl::StrJoin(held, ", ", format),
                   "; nothing was deleted; leave them out, or delete what uses them first"));
}

}  // namespace

absl::StatusOr<CheckpointRemoval> PlanRemoval(store::Store& store,
                                              const std::vector<std::string>& uuids,
                                              const model::Globs& globs) {
  DET_RETURN_IF_ERROR(model::CheckGlobs(globs));
  const bool all = model::MatchesAllFiles(globs);
  return PlanEach(store, uuids, [&](const auto& entry, CheckpointRemoval* removal) {
    const model::CheckpointRecord& checkpoint = entry.checkpoint;
    if (all) {
      removal->event.ids.push_back(checkpoint.id);
    } else if (CheckFilesNotDeleted(checkpoint).ok() &&
               model::MatchesFiles(checkpoint.resources, globs)) {
      removal->event.trims.push_back({checkpoint.id, globs});
    } else {
      removal->unmatched.push_back(checkpoint.id);
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<CheckpointRemoval> PlanRefresh(store::Store& store,
                                              const std::vector<std::string>& uuids,
                                              const ListFiles& list_files) {
  CheckpointStorages storages(store);
  return PlanEach(store, uuids, [&](const auto& entry, CheckpointRemoval* removal) -> absl::Status {
    const model::CheckpointRecord& checkpoint = entry.checkpoint;
    if (!CheckFilesNotDeleted(checkpoint).ok()) return absl::OkStatus();
    DET_ASSIGN_OR_RETURN(const auto experiment, store.GetExperiment(entry.experiment));
    DET_ASSIGN_OR_RETURN(
        const auto storage,
        storages.Find(checkpoint, experiment.experiment.config->checkpoint_storage));
    // Programs that run outside of the cluster report which files they remove.
    if (store::IsOutside(experiment.experiment, storage)) return absl::OkStatus();
    DET_ASSIGN_OR_RETURN(const std::set<std::string> found, list_files(storage, checkpoint.id));
    model::Resources remaining = checkpoint.resources;
    std::erase_if(remaining, [&](const auto& file) {
      return !absl::EndsWith(file.first, "/") && !found.contains(file.first);
    });
    if (remaining == checkpoint.resources) return absl::OkStatus();
    return PlanRemovalExcept(remaining, checkpoint, &removal->event);
  });
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
