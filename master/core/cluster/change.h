// A change of durable state, as a value: an upsert of one row or an append of one line. The store
// knows how to make each of them; equal changes made twice leave the same rows.
//
// PURE.
#ifndef MASTER_CORE_CLUSTER_CHANGE_H_
#define MASTER_CORE_CLUSTER_CHANGE_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "master/core/cluster/disposal.h"
#include "master/core/cluster/spaces.h"
#include "master/core/experiment/allocation.h"
#include "master/core/experiment/experiment.h"
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
struct PutAllocation {
  experiment::Allocation allocation;
  friend bool operator==(const PutAllocation&, const PutAllocation&) = default;
};
// What the searcher heard in its `sequence`-th step; it is written either so or as a snapshot.
struct AddSearcherEvents {
  model::ExperimentId experiment;
  int64_t sequence = 0;
  model::Value events;  // a list; searcher/journal.h
  friend bool operator==(const AddSearcherEvents&, const AddSearcherEvents&) = default;
};
// The searcher after its `sequence`-th step: its snapshot and its events up to there are dropped.
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
// COMPLETED becomes ERROR, and its metadata say why: "damage". Nothing for another trial's.
struct MarkDamaged {
  model::CheckpointId id;
  model::TrialId trial;
  std::string damage;
  friend bool operator==(const MarkDamaged&, const MarkDamaged&) = default;
};
// A line of the master's own in a task's log: "restart 1 of 5: rank 1 was killed by SIGKILL".
struct AddLogLine {
  model::LogLine line;
  friend bool operator==(const AddLogLine&, const AddLogLine&) = default;
};
// What webhooks are to be told: a delivery for each that wants to hear of it.
struct RaiseWebhooks {
  model::WebhookEvent event;
  friend bool operator==(const RaiseWebhooks&, const RaiseWebhooks&) = default;
};

// An agent as it registered, so that a restarted master knows of it before it returns.
struct PutAgent {
  model::Agent agent;  // not connected: a row does not know
  friend bool operator==(const PutAgent&, const PutAgent&) = default;
};
struct DropAgent {
  model::AgentId id;
  friend bool operator==(const DropAgent&, const DropAgent&) = default;
};
// From `at` on an agent offers so many slots to a pool; 0: it is gone. Kept for reports: the
// cluster never reads it.
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
// Pools and defaults that were set at run time; those of the configuration file have no row.
struct PutPool {
  model::ResourcePool pool;
  friend bool operator==(const PutPool&, const PutPool&) = default;
};
struct DropPool {
  std::string name;
  friend bool operator==(const DropPool&, const DropPool&) = default;
};
struct PutDefaultPools {
  std::optional<std::string> compute;  // absent: the configuration file's
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
    std::variant<PutExperiment, PutTrial, PutAllocation, PutSearcher, AddSearcherEvents, AddMetrics,
                 AddCheckpoint, MarkDamaged, SetProject, SetTexts, SetArchived, MarkDeleting,
                 PutRetention, DropCheckpoints, TrimCheckpoint, RetainOthers, AddLogLine,
                 RaiseWebhooks, PutAgent, DropAgent, AddCapacity, PutAgentState, PutPool, DropPool,
                 PutDefaultPools, SetQuota, DropQuota>;

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_CHANGE_H_
