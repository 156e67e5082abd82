// The one way in which the parts of this folder change the cluster's memory: a Step notes what was
// touched and turns it into changes at its end, each row once.
//
// Included by this folder's sources alone. PURE.
#ifndef MASTER_CORE_CLUSTER_STEP_H_
#define MASTER_CORE_CLUSTER_STEP_H_

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "master/core/cluster/outcome.h"
#include "master/core/cluster/state.h"

namespace det::cluster {

// One event being applied.
class Step {
 public:
  Step(Cluster::State& state, absl::Time now) : s(state), now(now) {}

  // Rows to write.
  void Touch(const experiment::Experiment& e) { experiments_.insert(e.id); }
  void Touch(const experiment::Trial& t) { trials_.insert(t.id); }
  void Touch(const experiment::Allocation& a) { allocations_.insert(a.id); }
  void Touch(const model::AgentState& a) { agent_states_.insert(a.id), TouchNode(a.id); }
  // What the scheduler is to hear of, besides allocations: the agent; the experiment's place in the
  // queue.
  void TouchNode(const model::AgentId& id) { nodes_.insert(id); }
  void TouchJob(const experiment::Experiment& e) { Touch(e), jobs_.emplace(e.id, e.job); }
  // The searcher has heard this.
  void Journal(const Entry& entry, const searcher::Event& event);
  void Change(cluster::Change change) { out.changes.push_back(std::move(change)); }
  void Effect(cluster::Effect effect) { out.effects.push_back(std::move(effect)); }
  // A line of the master's own in the trial's log.
  void Log(const experiment::Trial& trial, const model::AllocationId& allocation,
           model::LogLevel level, std::string text);
  // The queue or the slots have changed.
  void Reschedule() { reschedule_ = true; }
  // So that a plan of before must not go on either.
  void Replan() { s.plan = {}, Reschedule(); }

  Entry& EntryOf(const experiment::Trial& trial) { return s.experiments.at(trial.experiment); }

  // Writes the rows, forgets what is over, and gives the outcome.
  Outcome Finish();

  Cluster::State& s;
  const absl::Time now;
  Outcome out;
  // What the searcher of the experiment has asked for and has not got yet, and whether that is
  // being done: what is done may make it ask for more.
  std::deque<searcher::Operation> wishes;
  bool granting = false;

 private:
  // A line in the journal, or a snapshot once the journal is long.
  cluster::Change SearcherRow(Entry& entry, const std::vector<searcher::Event>& heard);
  // Changes of state that webhooks may want to hear of.
  void TellWebhooks();
  void Forget();
  void TellScheduler();

  std::set<model::ExperimentId> experiments_;
  std::map<model::ExperimentId, std::vector<searcher::Event>> heard_;
  std::set<model::TrialId> trials_;
  std::set<model::AllocationId> allocations_;
  std::set<model::AgentId> agent_states_;
  std::set<model::AgentId> nodes_;
  std::map<model::ExperimentId, model::JobId> jobs_;  // and those that ended, whose job goes
  bool reschedule_ = false;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_STEP_H_
