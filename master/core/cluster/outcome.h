// The result of one event: the changes to commit, the effects that follow the commit, and values
// for the response to the caller. PURE.
#ifndef MASTER_CORE_CLUSTER_OUTCOME_H_
#define MASTER_CORE_CLUSTER_OUTCOME_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "master/core/cluster/change.h"
#include "master/core/cluster/effect.h"

namespace det::cluster {

struct Outcome {
  std::vector<Change> changes;
  std::vector<Effect> effects;
  // Set only by CreateExperiment.
  std::optional<model::ExperimentId> created;
  // Set only by CreateExperiment, ContinueExperiment and CreateTask: whether more is requested than
  // the pool has, as far as the known agents tell.
  bool exceeds_capacity = false;
  int32_t reserved = 0;  // set only by ReserveId
  // Set only by ValidationsReported: whether one of the validations is the best of the experiment.
  bool best_so_far = false;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_OUTCOME_H_
