// The durable state of the cluster as one value: what a store loads, what a cluster is restored
// from.
//
// PURE.
#ifndef MASTER_CORE_CLUSTER_IMAGE_H_
#define MASTER_CORE_CLUSTER_IMAGE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "master/core/cluster/change.h"
#include "master/core/model/ids.h"

namespace det::cluster {

// What the runs that have ended used of the month (UTC) in which the newest of them ended.
struct Usage {
  absl::Time month;  // its beginning
  // Slot-seconds, fractions of devices as such; by name.
  std::map<std::string, double> users;
  std::map<std::string, double> workspaces;
  friend bool operator==(const Usage&, const Usage&) = default;
};

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
  std::vector<model::Agent> known_agents;  // that registered and were not lost; by id
  std::vector<model::AgentState> agents;   // by id
  std::vector<model::ResourcePool> pools;  // that were set at run time; by name
  PutDefaultPools default_pools;           // likewise
  std::vector<model::Quota> quotas;        // by scope and name
  Usage usage;  // not in a Dump: it is a sum of the rows that the cluster forgets
  friend bool operator==(const Image&, const Image&) = default;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_IMAGE_H_
