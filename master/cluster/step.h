// The one way in which the parts of this folder change the cluster's memory: a Step notes what was
// touched and turns it into changes at its end, each row once.
//
// Included by this folder's sources alone. PURE.
#ifndef MASTER_CLUSTER_STEP_H_
#define MASTER_CLUSTER_STEP_H_

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "master/cluster/outcome.h"
#include "master/cluster/state.h"

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

// ---- requests.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const CreateExperiment& event);
absl::StatusOr<Outcome> Apply(Step& step, const PauseExperiment& event);
absl::StatusOr<Outcome> Apply(Step& step, const ActivateExperiment& event);
absl::StatusOr<Outcome> Apply(Step& step, const CancelExperiment& event);
absl::StatusOr<Outcome> Apply(Step& step, const KillExperiment& event);
absl::StatusOr<Outcome> Apply(Step& step, const KillTrial& event);
absl::StatusOr<Outcome> Apply(Step& step, const PostSearcherOperations& event);

// ---- continue.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const ContinueExperiment& event);
// The searcher of an experiment that goes on asks for a trial that is there.
void AskedAgain(Step& step, Entry& entry, experiment::Trial& trial);

// ---- agents.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const AgentRegistered& event);
absl::StatusOr<Outcome> Apply(Step& step, const AgentDisconnected& event);
absl::StatusOr<Outcome> Apply(Step& step, const AgentLost& event);
absl::StatusOr<Outcome> Apply(Step& step, const ShareStarted& event);
absl::StatusOr<Outcome> Apply(Step& step, const ShareExited& event);

// ---- reports.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const ValidationReported& event);
absl::StatusOr<Outcome> Apply(Step& step, const CheckpointReported& event);
absl::StatusOr<Outcome> Apply(Step& step, const ProgressReported& event);
absl::StatusOr<Outcome> Apply(Step& step, const PreemptionAcked& event);
absl::StatusOr<Outcome> Apply(Step& step, const EarlyExitReported& event);

// ---- queue.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const UpdateQueue& event);
// A new place, behind all others, as the configuration asks for.
experiment::QueuePlace MakePlace(const Cluster::State& s, const model::ExperimentConfig& config,
                                 model::ExperimentId id);

// ---- pools.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const PutResourcePool& event);
absl::StatusOr<Outcome> Apply(Step& step, const DeleteResourcePool& event);
absl::StatusOr<Outcome> Apply(Step& step, const PutQuota& event);
absl::StatusOr<Outcome> Apply(Step& step, const DeleteQuota& event);

// ---- upkeep.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const EnableAgent& event);
absl::StatusOr<Outcome> Apply(Step& step, const DisableAgent& event);
absl::StatusOr<Outcome> Apply(Step& step, const EnableSlot& event);
absl::StatusOr<Outcome> Apply(Step& step, const DisableSlot& event);
absl::StatusOr<Outcome> Apply(Step& step, const SetMaintenance& event);
absl::StatusOr<Outcome> Apply(Step& step, const CalendarTick& event);
// The next CalendarTick, where there is something to wait for.
void SetCalendar(Step& step);

// ---- hardware.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const HardwareSuspected& event);
absl::StatusOr<Outcome> Apply(Step& step, const LogPolicyMatched& event);
// The run is over: counts it for or against the slots it was on.
void NoteHardware(Step& step, const experiment::Allocation& allocation, experiment::Trial& trial);

// ---- scheduling.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const ScheduleTick& event);

// ---- allocations.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const AllocationDeadline& event);
// Brings about what an allocation's machine asked for, up to the end of the experiment.
void Do(Step& step, experiment::Allocation& allocation,
        const experiment::AllocationActions& actions);
// Asks it to save and go, if it runs and was not asked before.
void Preempt(Step& step, experiment::Allocation& allocation, const std::string& reason);
std::string TimeIsOver(const Entry& entry);
std::vector<RendezvousNode> NodesOf(const Cluster::State& state,
                                    const experiment::Allocation& allocation);

// ---- trials.cc ----
// Brings about what a trial's machine asked for.
void Do(Step& step, experiment::Trial& trial, const experiment::TrialActions& actions);
// The trial's run has ended: those that waited for its checkpoint start.
void StartChildren(Step& step, const experiment::Trial& parent);
// Tells the searcher, as long as the experiment searches, and does what it asks for.
void Tell(Step& step, Entry& entry, const searcher::Event& event);
// Does what the searcher asks for, and ends the experiment if that was the last.
void Do(Step& step, Entry& entry, std::vector<searcher::Operation> operations);
bool IsSearching(const experiment::Experiment& e);
// Ends the experiment once all its trials have ended.
void EndIfDone(Step& step, Entry& entry);

// ---- task_spec.cc ----
TaskSpec MakeTaskSpec(const Cluster::State& state, const experiment::Allocation& allocation,
                      const experiment::Share& share);

}  // namespace det::cluster

#endif  // MASTER_CLUSTER_STEP_H_
