// What is to be removed, and its removal: the work of gc::GcThread, derived from the rows and the
// same each time it is asked for. Every call is one transaction of bounded size and can be
// repeated.
//
// Any thread; blocks. The states themselves change by Commit alone (MarkDeleting, DropCheckpoints,
// TrimCheckpoint), but for the last ones: DELETED and DELETE_FAILED.
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

// A checkpoint whose files are to be removed.
struct CheckpointToDelete {
  model::CheckpointId id;
  model::ExperimentId experiment;
  model::CheckpointStorageConfig storage;
};

// A checkpoint of which some files are to be removed.
struct CheckpointToTrim {
  model::CheckpointId id;
  model::ExperimentId experiment;
  model::CheckpointStorageConfig storage;
  model::Resources resources;
  model::Globs globs;  // what is to go of these
};

// A checkpoint that stays, and who needs it: "experiment 7", "version 3 of model bert".
struct HeldCheckpoint {
  model::CheckpointId id;
  std::string holder;
  friend bool operator==(const HeldCheckpoint&, const HeldCheckpoint&) = default;
};

class GarbageCollection {
 public:
  virtual ~GarbageCollection() = default;

  // Experiments that have ended and whose retention is due; with ids above `after`, by id.
  virtual absl::StatusOr<std::vector<model::ExperimentId>> ListDueRetentions(model::ExperimentId after,
                                                                         int limit) = 0;
  // DELETING checkpoints with ids above `after`, by id.
  virtual absl::StatusOr<std::vector<CheckpointToDelete>> ListCheckpointsToDelete(
      const model::CheckpointId& after, int limit) = 0;
  // The files of these are gone.
  virtual absl::Status MarkCheckpointsDeleted(const std::vector<model::CheckpointId>& ids) = 0;
  // PARTIALLY_DELETED checkpoints whose files were not removed yet, with ids above `after`, by id.
  virtual absl::StatusOr<std::vector<CheckpointToTrim>> ListCheckpointsToTrim(
      const model::CheckpointId& after, int limit) = 0;
  // Those files are gone, `left` is there; where that has no file, the checkpoint is DELETED.
  // Nothing when more is to go by now, or all of it.
  virtual absl::Status MarkCheckpointTrimmed(const CheckpointToTrim& trimmed,
                                  const model::Resources& left) = 0;

  // DELETING experiments, by id.
  virtual absl::StatusOr<std::vector<model::ExperimentId>> ListDeletions() = 0;
  // DELETED experiments of which something is held no longer: they are to be deleted once more.
  virtual absl::StatusOr<std::vector<model::ExperimentId>> ListReleased() = 0;
  // Removes at most `limit` lines of log, rows of metrics or of the search; or else, when none is
  // left, all other rows but those of checkpoints that are not DELETED, with their trials and the
  // experiment, which becomes DELETED then. True: that was all. Nothing, and true, for an
  // experiment that is not being deleted.
  virtual absl::StatusOr<bool> RemoveRows(model::ExperimentId id, int limit) = 0;
  // DELETING becomes DELETE_FAILED.
  virtual absl::Status MarkDeletionFailed(model::ExperimentId id, const std::string& reason) = 0;

  // ---- by age: docs/durability.md ----

  // For how many days after a trial's end its lines of log are kept; -1: for ever. The newest word
  // about a trial wins, and wins over the experiment's configuration. NOT_FOUND.
  virtual absl::Status SetExperimentLogDays(model::ExperimentId id, int days) = 0;
  virtual absl::Status SetTrialLogDays(model::TrialId id, int days) = 0;
  // What was said of the trial's lines, as above; nullopt: nothing. NOT_FOUND.
  virtual absl::StatusOr<std::optional<int>> GetTrialLogDays(model::TrialId id) = 0;
  // Removes at most `limit` lines whose time is over; `days` holds where nobody says anything.
  // True: that was all.
  virtual absl::StatusOr<bool> RemoveExpiredLogs(absl::Time now, int days, int limit) = 0;
  // The same of audit records from before `until`.
  virtual absl::StatusOr<bool> RemoveExpiredAudit(absl::Time until, int limit) = 0;

  // Those of the experiment, by id.
  virtual absl::StatusOr<std::vector<HeldCheckpoint>> ListHeldCheckpoints(model::ExperimentId id) = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_GARBAGE_COLLECTION_H_
