// The cluster's memory. Only a Step (step.h) changes it.
//
// Private to this folder. PURE.
#ifndef MASTER_CORE_CLUSTER_STATE_H_
#define MASTER_CORE_CLUSTER_STATE_H_

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "master/core/cluster/cluster.h"
#include "master/core/cluster/queue_order.h"
#include "master/core/cluster/slot_index.h"
#include "master/core/cluster/slot_time.h"
#include "master/core/scheduler/scheduler.h"
#include "master/core/searcher/searcher.h"

namespace det::cluster {

// A live experiment with what belongs to it.
struct Entry {
  experiment::Experiment experiment;
  searcher::Searcher searcher;
  int64_t searcher_sequence = 0;  // of its last stored step
  int64_t journaled = 0;          // events in the rows since the last snapshot
  bool is_new = true;             // the rows have no snapshot yet
  // The last state that webhooks were notified of.
  std::optional<model::ExperimentState> notified_state = {};
  std::map<model::RequestId, model::TrialId> trials;
  std::set<model::TrialId> waiting;  // those with waits_for
  // Warnings that were written to a trial's log, once each: "no loss", "loss is NaN". Not durable.
  std::set<std::pair<model::TrialId, std::string>> warned;
};

// A scheduling plan that is partly applied. Not durable: after a restart the next pass makes a new
// plan.
struct OpenPlan {
  std::deque<scheduler::Assignment> assign;
  std::deque<scheduler::Preemption> preempt;
  absl::Time made;
  bool done() const { return assign.empty() && preempt.empty(); }
};

struct Cluster::State {
  Settings settings;
  std::map<model::ExperimentId, Entry> experiments;
  std::map<model::TrialId, experiment::Trial> trials;
  std::map<model::TaskId, experiment::Task> tasks;                    // live, and not trials
  std::map<model::AllocationId, experiment::Allocation> allocations;  // not terminated
  std::map<model::AgentId, model::Agent> agents;
  std::map<model::AgentId, model::AgentState> agent_states;
  std::map<std::string, model::ResourcePool> pools;  // defined at run time
  PutDefaultPools default_pools;                     // set at run time
  std::map<std::pair<model::Quota::Scope, std::string>, model::Quota> quotas;

  // Derived from the members above (DeriveState).
  scheduler::Scheduler scheduler;
  SlotIndex slots;
  SlotTime slot_time;
  QueueOrder order;
  OpenPlan plan;
  absl::Time now;              // of the last event
  bool queue_changed = false;  // since the last ScheduleTick

  // The last searcher step of each experiment that ended since the start. Not durable.
  std::map<model::ExperimentId, int64_t> ended;
  // Experiments and checkpoints that were marked for deletion since the start; a request that was
  // prepared from older rows must not use them. Not durable.
  std::set<model::ExperimentId> deleting;
  std::set<model::CheckpointId> dropped;
  // Allocations that started ahead of a higher-ranked one (backfill). Not durable.
  std::set<model::AllocationId> backfilled;
  int32_t last_experiment = 0;
  int32_t last_trial = 0;
  int64_t last_submitted = 0;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_STATE_H_
