// An experiment: a configuration, its searcher, its trials.
//
//              pause                    every trial has ended
//   ACTIVE ◄──────────► PAUSED         ┌──────────────────────► COMPLETED | CANCELED | ERROR
//     │        activate   │            │
//     └───────┬───────────┘            │
//             │ searcher shut down, cancel, kill, failure
//             ▼                        │
//   STOPPING_COMPLETED | STOPPING_CANCELED | STOPPING_ERROR
//
// An ended experiment may be continued: it becomes ACTIVE again.
//
// PURE; table in tables.h.
#ifndef MASTER_CORE_EXPERIMENT_EXPERIMENT_H_
#define MASTER_CORE_EXPERIMENT_EXPERIMENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "master/core/experiment/tables.h"
#include "master/core/model/experiment_config.h"
#include "master/core/model/ids.h"
#include "master/core/model/states.h"

namespace det::experiment {

// Its current place in the queue: what its configuration requests, until a user changes it.
struct QueuePlace {
  std::string resource_pool;
  int priority = 42;             // 1..99, smaller first
  double weight = 1;             // under fair share
  double position = 0;           // inside a pool and a priority, smaller first; its id at first
  bool position_set = false;     // a user moved it
  std::optional<int> max_slots;  // maximum that its trials hold at once
  friend bool operator==(const QueuePlace&, const QueuePlace&) = default;
};

// The durable part; cluster::Cluster keeps the searcher separately.
struct Experiment {
  model::ExperimentId id;
  model::JobId job;
  model::UserId owner;
  std::string owner_name;  // the owner's name for quotas; empty: the digits of the id
  // The ids of its workspace and project; `config` has their names and is kept consistent.
  int32_t workspace = 1;
  int32_t project = 1;
  std::string request_id;  // of the client that created it; empty: none
  // Immutable and shared: configurations are large, and a change copies the whole.
  std::shared_ptr<const model::ExperimentConfig> config;
  std::string original_config;  // the YAML as submitted
  std::string context_hash;     // empty: no context directory
  // The checkpoint from which every trial without a parent starts.
  std::optional<model::CheckpointId> warm_start;
  std::optional<model::ExperimentId> forked_from;
  // It runs outside of the cluster and only reports to it (docs/detached-mode.md). The cluster
  // never loads it; store::Detached changes its rows.
  bool unmanaged = false;
  std::optional<std::string> external_id;  // by which programs outside of the cluster know it
  QueuePlace queue;
  model::ExperimentState state = model::ExperimentState::kActive;
  std::string reason;
  double progress = 0;
  std::optional<double> best_metric;
  std::optional<model::TrialId> best_trial;
  absl::Time created_at;
  std::optional<absl::Time> ended_at;
};
// Compares the configuration by value.
bool operator==(const Experiment& a, const Experiment& b);

// Returns the owner's name for quotas.
std::string OwnerName(const Experiment& experiment);

// Makes the transition of the table; returns false if `event` does not apply in the current state.
bool Move(Experiment& experiment, ExperimentEvent event);

}  // namespace det::experiment

#endif  // MASTER_CORE_EXPERIMENT_EXPERIMENT_H_
