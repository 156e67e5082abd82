// The work of gc::Collector: what must be removed, derived from the rows, and its removal. Every
// call is one transaction of bounded size and can be repeated.
//
// Any thread; blocks. States change only through Commit (MarkDeleting, DropCheckpoints,
// TrimCheckpoint), except for the final ones: DELETED and DELETE_FAILED.
#ifndef MASTER_STORE_INTERFACES_GARBAGE_COLLECTION_H_
#define MASTER_STORE_INTERFACES_GARBAGE_COLLECTION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/core/model/file_globs.h"
#include "master/core/model/ids.h"
#include "master/core/model/storage_config.h"

namespace det::store {

// A checkpoint whose files must be removed.
struct CheckpointToDelete {
  model::CheckpointId id;
  model::ExperimentId experiment;
  model::CheckpointStorageConfig storage;
  // Its files are in a folder of the machine where an unmanaged trial ran: the master leaves them.
  bool outside = false;
};

// A checkpoint some of whose files must be removed.
struct CheckpointToTrim {
  model::CheckpointId id;
  model::ExperimentId experiment;
  model::CheckpointStorageConfig storage;
  model::Resources resources;
  model::Globs globs;    // the files to remove
  bool outside = false;  // as in CheckpointToDelete
};

// A checkpoint that cannot be deleted, and what uses it: "experiment 7", "version 3 of model bert".
struct HeldCheckpoint {
  model::CheckpointId id;
  std::string holder;
  friend bool operator==(const HeldCheckpoint&, const HeldCheckpoint&) = default;
};

class GarbageCollection {
 public:
  virtual ~GarbageCollection() = default;

  // Experiments that have ended and whose retention policy must be applied, with ids above `after`,
  // sorted by id.
  virtual absl::StatusOr<std::vector<model::ExperimentId>> ListDueRetentions(
      model::ExperimentId after, int limit) = 0;
  // DELETING checkpoints with ids above `after`, sorted by id.
  virtual absl::StatusOr<std::vector<CheckpointToDelete>> ListCheckpointsToDelete(
      const model::CheckpointId& after, int limit) = 0;
  // Records that the files of these checkpoints were removed.
  virtual absl::Status MarkCheckpointsDeleted(const std::vector<model::CheckpointId>& ids) = 0;
  // PARTIALLY_DELETED checkpoints whose files were not removed yet, with ids above `after`, sorted
  // by id.
  virtual absl::StatusOr<std::vector<CheckpointToTrim>> ListCheckpointsToTrim(
      const model::CheckpointId& after, int limit) = 0;
  // Records that the files were removed and `left` remain; if `left` is empty, the checkpoint
  // becomes DELETED. Does nothing if more files must be removed by now.
  virtual absl::Status MarkCheckpointTrimmed(const CheckpointToTrim& trimmed,
                                             const model::Resources& left) = 0;

  // DELETING experiments, sorted by id.
  virtual absl::StatusOr<std::vector<model::ExperimentId>> ListDeletions() = 0;
  // DELETED experiments with checkpoints that are no longer in use: they must be deleted once more.
  virtual absl::StatusOr<std::vector<model::ExperimentId>> ListReleased() = 0;
  // Ended experiments of DELETING projects and workspaces that are not being deleted, sorted by id.
  virtual absl::StatusOr<std::vector<model::ExperimentId>> ListOfDeletedProjects() = 0;
  // Removes at most `limit` log lines, metrics or search rows. If none are left, removes all other
  // rows except checkpoints that are not DELETED with their trials and the experiment, which then
  // becomes DELETED. Returns true if everything was removed. Does nothing and returns true for an
  // experiment that is not being deleted.
  virtual absl::StatusOr<bool> RemoveRows(model::ExperimentId id, int limit) = 0;
  // Changes the state from DELETING to DELETE_FAILED.
  virtual absl::Status MarkDeletionFailed(model::ExperimentId id, const std::string& reason) = 0;

  // ---- expiry: docs/durability.md ----

  // Sets for how many days after a trial's end its logs are kept; -1: forever. The last setting for
  // a trial wins, also over the experiment's configuration. NOT_FOUND.
  virtual absl::Status SetExperimentLogDays(model::ExperimentId id, int days) = 0;
  virtual absl::Status SetTrialLogDays(model::TrialId id, int days) = 0;
  // Returns that setting of a trial; nullopt if it was never set. NOT_FOUND.
  virtual absl::StatusOr<std::optional<int>> GetTrialLogDays(model::TrialId id) = 0;
  // Removes at most `limit` expired log lines. `days` applies to tasks that are not trials, and is
  // the default for trials without a setting.
  // Returns the number of removed lines: all were removed if it is below the limit.
  virtual absl::StatusOr<int> RemoveExpiredLogs(absl::Time now, int days, int limit) = 0;
  // Removes at most `limit` audit records from before `until`. Returns true if all were removed.
  virtual absl::StatusOr<bool> RemoveExpiredAudit(absl::Time until, int limit) = 0;

  // Lists the checkpoints of the experiment that are in use, sorted by id.
  virtual absl::StatusOr<std::vector<HeldCheckpoint>> ListHeldCheckpoints(
      model::ExperimentId id) = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_GARBAGE_COLLECTION_H_
