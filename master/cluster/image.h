// The durable state of the cluster as one value: what a store loads, what a cluster is restored
// from.
//
// PURE.
#ifndef MASTER_CLUSTER_IMAGE_H_
#define MASTER_CLUSTER_IMAGE_H_

#include <cstdint>
#include <map>
#include <vector>

#include "master/cluster/change.h"
#include "master/model/ids.h"

namespace det::cluster {

// What the store loads at start: every experiment, trial and allocation that is not over, the
// newest snapshot of each searcher and what it has heard since, and the highest ids ever used.
struct Image {
  std::vector<experiment::Experiment> experiments;
  std::vector<experiment::Trial> trials;            // of those experiments, terminal ones included
  std::vector<experiment::Allocation> allocations;  // not terminated
  std::map<model::ExperimentId, PutSearcher> searchers;
  std::vector<AddSearcherEvents> searcher_events;  // by experiment and sequence
  int32_t last_experiment = 0;
  int32_t last_trial = 0;
  int64_t last_submitted = 0;
  friend bool operator==(const Image&, const Image&) = default;
};

}  // namespace det::cluster

#endif  // MASTER_CLUSTER_IMAGE_H_
