// What an event leads to: the durable part, then what follows from it, and the answer to whoever
// asked. PURE.
#ifndef MASTER_CORE_CLUSTER_OUTCOME_H_
#define MASTER_CORE_CLUSTER_OUTCOME_H_

#include <optional>
#include <vector>

#include "master/core/cluster/change.h"
#include "master/core/cluster/effect.h"

namespace det::cluster {

struct Outcome {
  std::vector<Change> changes;
  std::vector<Effect> effects;
  // Set by CreateExperiment alone.
  std::optional<model::ExperimentId> created;
  // Set by ValidationReported alone: the best the experiment has seen.
  bool best_so_far = false;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_OUTCOME_H_
