// A change of durable state, as a value: an upsert of one row or an append of one line. The store
// applies changes; applying the same change twice leaves the same rows.
//
// PURE.
#ifndef MASTER_CORE_CLUSTER_CHANGE_H_
#define MASTER_CORE_CLUSTER_CHANGE_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "master/core/cluster/deletion_changes.h"
#include "master/core/cluster/experiment_details.h"
#include "master/core/experiment/allocation.h"
#include "master/core/experiment/experiment.h"
#include "master/core/experiment/task.h"
#include "master/core/experiment/trial.h"
#include "master/core/model/agent.h"
#include "master/core/model/ids.h"
#include "master/core/model/reports.h"
#include "master/core/model/resource_pool.h"
#include "master/core/model/value.h"
#include "master/core/model/webhook.h"
#include "master/core/searcher/operation.h"

namespace det::cluster {

struct PutExperiment {
  experiment::Experiment experiment;
  friend bool operator==(const PutExperiment&, const PutExperiment&) = default;
};
struct PutTrial {
  experiment::Trial trial;
  friend bool operator==(const PutTrial&, const PutTrial&) = default;
};
struct PutTask {
  experiment::Task task;
  friend bool operator==(const PutTask&, const PutTask&) = default;
};
struct PutAllocation {
  experiment::Allocation allocation;
  friend bool operator==(const PutAllocation&, const PutAllocation&) = default;
};
// The events that the searcher handled in its `sequence`-th step. A step is stored either as its
// events or as a snapshot (PutSearcher).
struct AddSearcherEvents {
  model::ExperimentId experiment;
  int64_t sequence = 0;
  model::Value events;  // a list; searcher/journal.h
  friend bool operator==(const AddSearcherEvents&, const AddSearcherEvents&) = default;
};
// The state of the searcher after its `sequence`-th step. Replaces the previous snapshot and all
// events up to this step.
struct PutSearcher {
  model::ExperimentId experiment;
  int64_t sequence = 0;
  model::Value snapshot;
  friend bool operator==(const PutSearcher&, const PutSearcher&) = default;
};
struct AddMetrics {
  model::MetricReport report;
  friend bool operator==(const AddMetrics&, const AddMetrics&) = default;
};
struct AddCheckpoint {
  model::CheckpointRecord checkpoint;
  friend bool operator==(const AddCheckpoint&, const AddCheckpoint&) = default;
};
// Changes a checkpoint from COMPLETED to ERROR and stores the cause in its metadata as "damage".
// Has no effect on a checkpoint of another trial.
struct MarkDamaged {
  model::CheckpointId id;
  model::TrialId trial;
  std::string damage;
  friend bool operator==(const MarkDamaged&, const MarkDamaged&) = default;
};
// A line that the master writes to a task's log: "restart 1 of 5: rank 1 was killed by SIGKILL".
struct AddLogLine {
  model::LogLine line;
  friend bool operator==(const AddLogLine&, const AddLogLine&) = default;
};
// Queues a delivery for each webhook with a trigger that matches the event.
struct RaiseWebhooks {
  model::WebhookEvent event;
  friend bool operator==(const RaiseWebhooks&, const RaiseWebhooks&) = default;
};

// An agent as it registered, so that a restarted master knows the agent before it reconnects.
struct PutAgent {
  model::Agent agent;  // `connected` is always false: rows do not store it
  friend bool operator==(const PutAgent&, const PutAgent&) = default;
};
struct DropAgent {
  model::AgentId id;
  friend bool operator==(const DropAgent&, const DropAgent&) = default;
};
// The number of slots that an agent offers to a pool from `at` on; 0 if the agent was lost. Stored
// for usage reports only; the cluster never reads it.
struct AddCapacity {
  model::AgentId agent;
  std::string resource_pool;
  int slots = 0;
  absl::Time at;
  friend bool operator==(const AddCapacity&, const AddCapacity&) = default;
};
struct PutAgentState {
  model::AgentState agent;
  friend bool operator==(const PutAgentState&, const PutAgentState&) = default;
};
// A pool that was defined at run time. Pools of the configuration file have no row.
struct PutPool {
  model::ResourcePool pool;
  friend bool operator==(const PutPool&, const PutPool&) = default;
};
struct DropPool {
  std::string name;
  friend bool operator==(const DropPool&, const DropPool&) = default;
};
struct PutDefaultPools {
  std::optional<std::string> compute;  // absent: the default of the configuration file
  std::optional<std::string> aux;
  friend bool operator==(const PutDefaultPools&, const PutDefaultPools&) = default;
};
struct SetQuota {
  model::Quota quota;
  friend bool operator==(const SetQuota&, const SetQuota&) = default;
};
struct DropQuota {
  model::Quota::Scope scope = model::Quota::Scope::kWorkspace;
  std::string name;
  friend bool operator==(const DropQuota&, const DropQuota&) = default;
};

using Change =
    std::variant<PutExperiment, PutTrial, PutTask, PutAllocation, PutSearcher, AddSearcherEvents, AddMetrics,
                 AddCheckpoint, MarkDamaged, SetProject, SetExperimentDetails, SetArchived,
                 MarkDeleting, PutRetention, DropCheckpoints, TrimCheckpoint, ApplyRetention,
                 AddLogLine, RaiseWebhooks, PutAgent, DropAgent, AddCapacity, PutAgentState,
                 PutPool, DropPool, PutDefaultPools, SetQuota, DropQuota>;

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_CHANGE_H_
