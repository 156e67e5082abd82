// The only way in which this folder changes the cluster's memory: a Step records what was touched
// and turns it into changes when it finishes, each row once.
//
// Private to this folder. PURE.
#ifndef MASTER_CORE_CLUSTER_STEP_H_
#define MASTER_CORE_CLUSTER_STEP_H_

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "master/core/cluster/outcome.h"
#include "master/core/cluster/state.h"

namespace det::cluster {

// The application of one event.
class Step {
 public:
  Step(Cluster::State& state, absl::Time now) : s(state), now(now) {}

  // Marks rows to write.
  void Touch(const experiment::Experiment& e) { experiments_.insert(e.id); }
  void Touch(const experiment::Trial& t) { trials_.insert(t.id); }
  void Touch(const experiment::Task& t) { tasks_.insert(t.id); }
  void Touch(const experiment::Allocation& a) { allocations_.insert(a.id); }
  void Touch(const model::AgentState& a) {
    agent_states_.insert(a.id);
    TouchNode(a.id);
  }
  // Marks what the scheduler must be updated with, besides allocations: the agent; the experiment's
  // place in the queue.
  void TouchNode(const model::AgentId& id) { nodes_.insert(id); }
  void TouchJob(const experiment::Experiment& e) {
    Touch(e);
    jobs_.insert(e.job);
  }
  void TouchJob(const experiment::Task& t) {
    Touch(t);
    jobs_.insert(experiment::GetJob(t));
  }
  // Records an event that the searcher handled.
  void Journal(const Entry& entry, const searcher::Event& event);
  void Change(cluster::Change change) { out.changes.push_back(std::move(change)); }
  void Effect(cluster::Effect effect) { out.effects.push_back(std::move(effect)); }
  // Adds a line of the master to the task's log.
  void Log(const experiment::Trial& trial, const model::AllocationId& allocation,
           model::LogLevel level, std::string text) {
    Log(trial.task, allocation, level, std::move(text));
  }
  void Log(const experiment::Allocation& allocation, model::LogLevel level, std::string text) {
    Log(allocation.task, allocation.id, level, std::move(text));
  }
  void Log(const model::TaskId& task, const model::AllocationId& allocation,
           model::LogLevel level, std::string text);
  // Requests a scheduling pass: the queue or the slots have changed.
  void Reschedule() { reschedule_ = true; }
  // Discards the current plan and requests a scheduling pass.
  void Replan() {
    s.plan = {};
    Reschedule();
  }

  Entry& GetEntry(const experiment::Trial& trial) { return s.experiments.at(trial.experiment); }

  // Writes the rows, removes ended objects from memory, and returns the outcome.
  Outcome Finish();

  Cluster::State& s;
  const absl::Time now;
  Outcome out;
  // The searcher's operations that are not applied yet, and whether they are being applied:
  // applying one may make the searcher return more.
  std::deque<searcher::Operation> pending_operations;
  bool applying_operations = false;

 private:
  // Returns a journal row, or a snapshot if the journal is long.
  cluster::Change SearcherRow(Entry& entry, const std::vector<searcher::Event>& handled);
  // Queues webhook deliveries for changed states.
  void NotifyWebhooks();
  void Forget();
  void UpdateScheduler();

  std::set<model::ExperimentId> experiments_;
  std::map<model::ExperimentId, std::vector<searcher::Event>> handled_;
  std::set<model::TrialId> trials_;
  std::set<model::TaskId> tasks_;
  std::set<model::AllocationId> allocations_;
  std::set<model::AgentId> agent_states_;
  std::set<model::AgentId> nodes_;
  std::set<model::JobId> jobs_;  // ended ones included; they are removed
  bool reschedule_ = false;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_STEP_H_
