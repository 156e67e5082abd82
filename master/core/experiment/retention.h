// Which checkpoints of an experiment are kept: the union of the best of the experiment, the best of
// each trial and the newest of each trial. The rules are those of Determined; the example of its
// documentation is a test.
//
// PURE.
#ifndef MASTER_CORE_EXPERIMENT_RETENTION_H_
#define MASTER_CORE_EXPERIMENT_RETENTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "master/core/model/ids.h"
#include "master/core/model/storage_config.h"

namespace det::experiment {

// How many checkpoints to keep; checkpoint_storage.save_*.
struct RetentionPolicy {
  int experiment_best = 0;
  int trial_best = 1;
  int trial_latest = 1;
  friend bool operator==(const RetentionPolicy&, const RetentionPolicy&) = default;
};
RetentionPolicy GetRetentionPolicy(const model::CheckpointStorageConfig& storage);
void SetRetentionPolicy(model::CheckpointStorageConfig& storage, const RetentionPolicy& policy);

// A checkpoint whose files exist.
struct RetentionCandidate {
  model::CheckpointId id;
  model::TrialId trial;
  int64_t steps = 0;
  absl::Time time;
  std::optional<double> metric;  // the searcher metric of the validation after as many steps
  bool held = false;             // in use elsewhere: kept, whatever the policy
  bool whole = true;             // false: some files were removed; no trial can resume from it
};

// Returns the ids to remove, in the order of `all`. A checkpoint without a metric, or with one that
// is not finite, is never among the best; of equal ones the newer is better. A checkpoint that is
// not whole is kept as if it were, but does not replace a whole one. The selection does not depend
// on the order of `all`.
std::vector<model::CheckpointId> SelectForRemoval(const RetentionPolicy& policy,
                                                  bool smaller_is_better,
                                                  const std::vector<RetentionCandidate>& all);

}  // namespace det::experiment

#endif  // MASTER_CORE_EXPERIMENT_RETENTION_H_
