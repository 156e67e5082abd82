// What the parts of this folder offer each other: an Apply for each event, and what the machines of
// experiments, trials and allocations ask for.
//
// Included by this folder's sources alone. PURE.
#ifndef MASTER_CORE_CLUSTER_PARTS_H_
#define MASTER_CORE_CLUSTER_PARTS_H_

#include <string>
#include <vector>

#include "master/core/cluster/step.h"

namespace det::cluster {

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

// ---- deletion.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const ArchiveExperiment& event);
absl::StatusOr<Outcome> Apply(Step& step, const DeleteExperiment& event);
absl::StatusOr<Outcome> Apply(Step& step, const SetRetention& event);
absl::StatusOr<Outcome> Apply(Step& step, const DeleteCheckpoints& event);
absl::StatusOr<Outcome> Apply(Step& step, const RetainCheckpoints& event);
// FAILED_PRECONDITION when what the new experiment starts from was given up for deletion.
absl::Status CheckOrigins(const Cluster::State& s, const CreateExperiment& event);
// FAILED_PRECONDITION when the experiment was given up for deletion.
absl::Status CheckNotDeleting(const Cluster::State& s, model::ExperimentId id);
// ABORTED or FAILED_PRECONDITION likewise.
absl::Status CheckRows(const Cluster::State& s, const ContinueExperiment& event);

// ---- spaces.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const MoveExperiment& event);
absl::StatusOr<Outcome> Apply(Step& step, const RenameSpace& event);
absl::StatusOr<Outcome> Apply(Step& step, const DescribeExperiment& event);

// ---- agents.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const AgentRegistered& event);
absl::StatusOr<Outcome> Apply(Step& step, const AgentDisconnected& event);
absl::StatusOr<Outcome> Apply(Step& step, const AgentLost& event);
absl::StatusOr<Outcome> Apply(Step& step, const ShareStarted& event);
absl::StatusOr<Outcome> Apply(Step& step, const ShareExited& event);
// Whether it has a row, which it has from when it registers; one that is known by its work alone
// has not.
bool IsRow(const model::Agent& agent);
model::Agent RowOf(model::Agent agent);

// ---- reports.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const ValidationReported& event);
absl::StatusOr<Outcome> Apply(Step& step, const CheckpointReported& event);
absl::StatusOr<Outcome> Apply(Step& step, const CheckpointDamaged& event);
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
// Why the allocation cannot stay where it is: "agent a is in maintenance until ...". Empty: it can.
std::string MaintenanceOf(const Cluster::State& s, const experiment::Allocation& a, absl::Time now);

// ---- hardware.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const HardwareSuspected& event);
absl::StatusOr<Outcome> Apply(Step& step, const LogPolicyMatched& event);
// The run is over: counts it for or against the slots it was on.
void NoteHardware(Step& step, const experiment::Allocation& allocation, experiment::Trial& trial);
// Trials that failed there as on broken hardware may run there again.
void Trust(Step& step, const model::AgentId& agent);

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

#endif  // MASTER_CORE_CLUSTER_PARTS_H_
