// Which checkpoints of an experiment are kept: the union of the best of the experiment, the best of
// each trial and the newest of each trial. The rules are Determined's, its documentation's worked
// example is a test.
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

// How many; checkpoint_storage.save_*.
struct RetentionPolicy {
  int experiment_best = 0;
  int trial_best = 1;
  int trial_latest = 1;
  friend bool operator==(const RetentionPolicy&, const RetentionPolicy&) = default;
};
RetentionPolicy PolicyOf(const model::CheckpointStorageConfig& storage);
void SetPolicy(model::CheckpointStorageConfig& storage, const RetentionPolicy& policy);

// A checkpoint whose files are there.
struct Retainable {
  model::CheckpointId id;
  model::TrialId trial;
  int64_t steps = 0;
  absl::Time time;
  std::optional<double> metric;  // the searcher's, of the validation after as many steps
  bool held = false;             // by somebody: stays, whatever the policy
  bool whole = true;             // else some of its files were removed: nobody goes on from it
};

// The ids that go, in the order of `all`. A checkpoint without a metric, or with NaN, is never
// among the best; of equals the newer one is better. One that is not whole stays as it would if it
// were, but takes nobody's place. The order of `all` does not matter for which go.
std::vector<model::CheckpointId> NotRetained(const RetentionPolicy& policy, bool smaller_is_better,
                                             const std::vector<Retainable>& all);

}  // namespace det::experiment

#endif  // MASTER_CORE_EXPERIMENT_RETENTION_H_
