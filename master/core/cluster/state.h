// The cluster's memory. Changed by a Step (step.h) alone.
//
// Included by this folder's sources alone. PURE.
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
  int64_t searcher_sequence = 0;  // of its last step that is in the rows
  int64_t journaled = 0;          // events in the rows since the last snapshot
  bool is_new = true;             // no snapshot is in the rows
  // Of which webhooks were told last.
  std::optional<model::ExperimentState> told = {};
  std::map<model::RequestId, model::TrialId> trials;
  std::set<model::TrialId> waiting;  // those with waits_for
  // What a trial's log has warned of, once each: "no loss", "loss is NaN". No durable state.
  std::set<std::pair<model::TrialId, std::string>> warned;
};

// A plan of the scheduler of which not all has been done yet. No durable state: the next pass finds
// again what a restart forgets.
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
  std::map<model::AllocationId, experiment::Allocation> allocations;  // not terminated
  std::map<model::AgentId, model::Agent> agents;
  std::map<model::AgentId, model::AgentState> agent_states;
  std::map<std::string, model::ResourcePool> pools;  // that were set at run time
  PutDefaultPools default_pools;                     // likewise
  std::map<std::pair<model::Quota::Scope, std::string>, model::Quota> quotas;

  // What follows from the above and is kept beside it (mirror.h).
  scheduler::Scheduler scheduler;
  SlotIndex slots;
  SlotTime slot_time;
  QueueOrder order;
  OpenPlan plan;
  absl::Time now;              // of the last event
  bool queue_changed = false;  // since the last ScheduleTick

  // Of the experiments that ended since the start: their searcher's last step. No durable state.
  std::map<model::ExperimentId, int64_t> ended;
  // What was given up for deletion since the start: whoever looked at the rows before that must not
  // build on it. No durable state.
  std::set<model::ExperimentId> deleting;
  std::set<model::CheckpointId> dropped;
  // Of the allocations: those that started past one that goes before them. No durable state.
  std::set<model::AllocationId> backfilled;
  int32_t last_experiment = 0;
  int32_t last_trial = 0;
  int64_t last_submitted = 0;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_STATE_H_
