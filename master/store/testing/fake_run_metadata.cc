// FakeRuns: metadata of runs and checkpoints.
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/testing/fake_runs.h"

namespace det::store {

absl::Status FakeRuns::PutMetadata(model::TrialId id, const model::Value& metadata) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  if (!db_.trials.contains(id)) return NoSuchRun(id);
  db_.run_metadata[id] = Canonical(metadata);
  return absl::OkStatus();
}

absl::StatusOr<model::Value> FakeRuns::GetMetadata(model::TrialId id) {
  std::lock_guard lock(db_.mutex);
  if (!db_.trials.contains(id)) return NoSuchRun(id);
  const auto it = db_.run_metadata.find(id);
  return it == db_.run_metadata.end() ? model::Value() : it->second;
}

absl::Status FakeRuns::PutCheckpointMetadata(const model::CheckpointId& id,
                                             const model::Value& metadata) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto it = db_.checkpoints.find(id);
  if (it == db_.checkpoints.end()) return NoSuchCheckpoint(id);
  it->second.metadata = Canonical(metadata);
  return absl::OkStatus();
}

}  // namespace det::store
