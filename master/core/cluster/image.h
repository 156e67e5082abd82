// The durable state of the cluster as one value. The store loads it; Cluster::Restore reads it.
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

// The usage of ended runs in the month (UTC) in which the newest of them ended.
struct Usage {
  absl::Time month;  // its beginning
  // Slot-seconds by name; a fraction of a device counts as that fraction.
  std::map<std::string, double> users;
  std::map<std::string, double> workspaces;
  friend bool operator==(const Usage&, const Usage&) = default;
};

// What the store loads at start: every live experiment, its trials and allocations, the newest
// snapshot of each searcher with the events since, and the highest ids ever used.
struct Image {
  std::vector<experiment::Experiment> experiments;
  std::vector<experiment::Trial> trials;            // of those experiments, terminal ones included
  std::vector<experiment::Task> tasks;              // not terminal; by id
  std::vector<experiment::Allocation> allocations;  // not terminated
  std::map<model::ExperimentId, PutSearcher> searchers;
  std::vector<AddSearcherEvents> searcher_events;  // by experiment and sequence
  int32_t last_experiment = 0;
  int32_t last_trial = 0;
  int64_t last_submitted = 0;
  std::vector<model::Agent> known_agents;  // registered and not lost; by id
  std::vector<model::AgentState> agents;   // by id
  std::vector<model::ResourcePool> pools;  // defined at run time; by name
  PutDefaultPools default_pools;           // set at run time
  std::vector<model::Quota> quotas;        // by scope and name
  Usage usage;  // not in a Dump: a sum over rows that the cluster does not keep in memory
  friend bool operator==(const Image&, const Image&) = default;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_IMAGE_H_
