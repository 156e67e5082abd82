// What is to be removed, and its removal: the work of gc::Sweep, derived from the rows and the
// same each time it is asked for. Every call is one transaction of bounded size and can be
// repeated.
//
// Any thread; blocks. The states themselves change by Commit alone (MarkDeleting, DropCheckpoints,
// TrimCheckpoint), but for the last ones: DELETED and DELETE_FAILED.
#ifndef MASTER_STORE_INTERFACES_DISPOSAL_H_
#define MASTER_STORE_INTERFACES_DISPOSAL_H_

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
struct DoomedCheckpoint {
  model::CheckpointId id;
  model::ExperimentId experiment;
  model::CheckpointStorageConfig storage;
};

// A checkpoint of which some files are to be removed.
struct TrimmedCheckpoint {
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

class Disposal {
 public:
  virtual ~Disposal() = default;

  // Experiments that have ended and whose retention is due; with ids above `after`, by id.
  virtual absl::StatusOr<std::vector<model::ExperimentId>> DueRetentions(model::ExperimentId after,
                                                                         int limit) = 0;
  // DELETING checkpoints with ids above `after`, by id.
  virtual absl::StatusOr<std::vector<DoomedCheckpoint>> DoomedCheckpoints(
      const model::CheckpointId& after, int limit) = 0;
  // The files of these are gone.
  virtual absl::Status SetDeleted(const std::vector<model::CheckpointId>& ids) = 0;
  // PARTIALLY_DELETED checkpoints whose files were not removed yet, with ids above `after`, by id.
  virtual absl::StatusOr<std::vector<TrimmedCheckpoint>> TrimmedCheckpoints(
      const model::CheckpointId& after, int limit) = 0;
  // Those files are gone, `left` is there; where that has no file, the checkpoint is DELETED.
  // Nothing when more is to go by now, or all of it.
  virtual absl::Status SetTrimmed(const TrimmedCheckpoint& trimmed,
                                  const model::Resources& left) = 0;

  // DELETING experiments, by id.
  virtual absl::StatusOr<std::vector<model::ExperimentId>> Deletions() = 0;
  // DELETED experiments of which something is held no longer: they are to be deleted once more.
  virtual absl::StatusOr<std::vector<model::ExperimentId>> Releases() = 0;
  // Removes at most `limit` lines of log, rows of metrics or of the search; or else, when none is
  // left, all other rows but those of checkpoints that are not DELETED, with their trials and the
  // experiment, which becomes DELETED then. True: that was all. Nothing, and true, for an
  // experiment that is not being deleted.
  virtual absl::StatusOr<bool> RemoveSome(model::ExperimentId id, int limit) = 0;
  // DELETING becomes DELETE_FAILED.
  virtual absl::Status FailDeletion(model::ExperimentId id, const std::string& reason) = 0;

  // ---- by age: docs/durability.md ----

  // For how many days after a trial's end its lines of log are kept; -1: for ever. The newest word
  // about a trial wins, and wins over the experiment's configuration. NOT_FOUND.
  virtual absl::Status KeepLogsOfExperiment(model::ExperimentId id, int days) = 0;
  virtual absl::Status KeepLogsOfTrial(model::TrialId id, int days) = 0;
  // What was said of the trial's lines, as above; nullopt: nothing. NOT_FOUND.
  virtual absl::StatusOr<std::optional<int>> LogDaysOfTrial(model::TrialId id) = 0;
  // Removes at most `limit` lines whose time is over; `days` holds where nobody says anything.
  // True: that was all.
  virtual absl::StatusOr<bool> RemoveOldLogs(absl::Time now, int days, int limit) = 0;
  // The same of audit records from before `until`.
  virtual absl::StatusOr<bool> RemoveOldAudit(absl::Time until, int limit) = 0;

  // Those of the experiment, by id.
  virtual absl::StatusOr<std::vector<HeldCheckpoint>> ListHeld(model::ExperimentId id) = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_DISPOSAL_H_
