// The functions that the sources of this folder share: an Apply for each event, and the execution
// of the actions that the state machines of trials and allocations return.
//
// Private to this folder. PURE.
#ifndef MASTER_CORE_CLUSTER_HANDLERS_H_
#define MASTER_CORE_CLUSTER_HANDLERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/core/cluster/step.h"

namespace det::cluster {

// ---- requests.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const CreateExperiment& event);
absl::StatusOr<Outcome> Apply(Step& step, const ReserveId& event);
absl::StatusOr<Outcome> Apply(Step& step, const PauseExperiment& event);
absl::StatusOr<Outcome> Apply(Step& step, const ActivateExperiment& event);
absl::StatusOr<Outcome> Apply(Step& step, const CancelExperiment& event);
absl::StatusOr<Outcome> Apply(Step& step, const KillExperiment& event);
absl::StatusOr<Outcome> Apply(Step& step, const KillTrial& event);
absl::StatusOr<Outcome> Apply(Step& step, const PostSearcherOperations& event);

// ---- continue.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const ContinueExperiment& event);
// Queues an existing trial that the searcher of a continued experiment created again.
void RequeueTrial(Step& step, Entry& entry, const searcher::CreateTrial& create,
                  experiment::Trial& trial);

// ---- deletion.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const ArchiveExperiment& event);
absl::StatusOr<Outcome> Apply(Step& step, const DeleteExperiment& event);
absl::StatusOr<Outcome> Apply(Step& step, const SetRetention& event);
absl::StatusOr<Outcome> Apply(Step& step, const DeleteCheckpoints& event);
absl::StatusOr<Outcome> Apply(Step& step, const RetainCheckpoints& event);
// FAILED_PRECONDITION if the new experiment starts from an experiment or a checkpoint that is being
// deleted.
absl::Status CheckOrigins(const Cluster::State& s, const CreateExperiment& event);
// FAILED_PRECONDITION if the experiment is being deleted.
absl::Status CheckNotDeleting(const Cluster::State& s, model::ExperimentId id);
// FAILED_PRECONDITION if the experiment, ABORTED if one of its checkpoints, is being deleted.
absl::Status CheckRows(const Cluster::State& s, const ContinueExperiment& event);

// ---- experiment_details.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const MoveExperiment& event);
absl::StatusOr<Outcome> Apply(Step& step, const RenameWorkspaceOrProject& event);
absl::StatusOr<Outcome> Apply(Step& step, const UpdateExperimentDetails& event);

// ---- agents.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const AgentRegistered& event);
absl::StatusOr<Outcome> Apply(Step& step, const AgentDisconnected& event);
absl::StatusOr<Outcome> Apply(Step& step, const AgentLost& event);
absl::StatusOr<Outcome> Apply(Step& step, const LocalTaskStarted& event);
absl::StatusOr<Outcome> Apply(Step& step, const LocalTaskExited& event);
// Whether the agent has a row: it has one once it has registered. An agent that is known only
// because of its allocations has none.
bool HasRow(const model::Agent& agent);
model::Agent ToRow(model::Agent agent);

// ---- reports.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const ValidationsReported& event);
absl::StatusOr<Outcome> Apply(Step& step, const CheckpointReported& event);
absl::StatusOr<Outcome> Apply(Step& step, const CheckpointDamaged& event);
absl::StatusOr<Outcome> Apply(Step& step, const ProgressReported& event);
absl::StatusOr<Outcome> Apply(Step& step, const PreemptionAcked& event);
absl::StatusOr<Outcome> Apply(Step& step, const EarlyExitReported& event);

// ---- queue.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const UpdateQueue& event);
// Returns the place at the end of the queue that the configuration requests.
experiment::QueuePlace MakePlace(const Cluster::State& s, const model::ResourcesConfig& resources,
                                 double position);

// ---- pools.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const PutResourcePool& event);
absl::StatusOr<Outcome> Apply(Step& step, const DeleteResourcePool& event);
absl::StatusOr<Outcome> Apply(Step& step, const PutQuota& event);
absl::StatusOr<Outcome> Apply(Step& step, const DeleteQuota& event);

// ---- agent_states.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const EnableAgent& event);
absl::StatusOr<Outcome> Apply(Step& step, const DisableAgent& event);
absl::StatusOr<Outcome> Apply(Step& step, const EnableSlot& event);
absl::StatusOr<Outcome> Apply(Step& step, const DisableSlot& event);
absl::StatusOr<Outcome> Apply(Step& step, const SetMaintenance& event);
absl::StatusOr<Outcome> Apply(Step& step, const CalendarTick& event);
// Sets the timer for the next CalendarTick if there is an event to wait for.
void SetCalendar(Step& step);
// Returns the maintenance that the allocation must make room for: "agent a is in maintenance until
// ..."; empty if there is none.
std::string DescribeMaintenance(const Cluster::State& s, const experiment::Allocation& a,
                                absl::Time now);

// ---- hardware_failures.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const HardwareSuspected& event);
absl::StatusOr<Outcome> Apply(Step& step, const LogPolicyMatched& event);
// Counts an ended run as a success or a failure of the slots that it used.
void RecordHardwareOutcome(Step& step, const experiment::Allocation& allocation);
// Lets trials run on the agent again that had a suspected hardware failure there.
void UnblockAgent(Step& step, const model::AgentId& agent);

// ---- scheduling.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const ScheduleTick& event);

// ---- allocations.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const AllocationDeadline& event);
// Executes the actions that the state machine of an allocation returned, which may end the
// experiment.
void ApplyActions(Step& step, experiment::Allocation& allocation,
                  const experiment::AllocationActions& actions);
// Preempts the allocation if it runs and is not being preempted yet.
void Preempt(Step& step, experiment::Allocation& allocation, const std::string& reason);
std::string DescribeRunTimeLimit(const model::ResourcesConfig& resources);
std::vector<RendezvousNode> GetRendezvousNodes(const Cluster::State& state,
                                               const experiment::Allocation& allocation);

// ---- trials.cc ----
// Executes the actions that the state machine of a trial returned.
void ApplyActions(Step& step, experiment::Trial& trial, const experiment::TrialActions& actions);
// Starts the trials that wait for a checkpoint of the trial, whose run has ended.
void StartChildren(Step& step, const experiment::Trial& parent);
// Passes the event to the searcher while the experiment searches, and applies the operations that
// the searcher returns.
void NotifySearcher(Step& step, Entry& entry, const searcher::Event& event);
// Applies the operations of the searcher and ends the experiment if nothing is left.
void ApplyOperations(Step& step, Entry& entry, std::vector<searcher::Operation> operations);
bool IsSearching(const experiment::Experiment& e);
// Ends the experiment once all its trials have ended.
void EndIfDone(Step& step, Entry& entry);

// ---- tasks.cc ----
absl::StatusOr<Outcome> Apply(Step& step, const CreateTask& event);
absl::StatusOr<Outcome> Apply(Step& step, const KillTasks& event);
absl::StatusOr<Outcome> Apply(Step& step, const PauseTasks& event);
absl::StatusOr<Outcome> Apply(Step& step, const ActivateTasks& event);
absl::StatusOr<Outcome> Apply(Step& step, const TaskReady& event);
// Executes the actions that the state machine of a task returned.
void ApplyActions(Step& step, experiment::Task& task, const experiment::TaskActions& actions);
// Its allocation has ended.
void OnAttemptEnded(Step& step, experiment::Task& task, const experiment::Allocation& allocation);

// ---- task_spec.cc ----
TaskSpec MakeTaskSpec(const Cluster::State& state, const experiment::Allocation& allocation,
                      const experiment::LocalTask& local_task);

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_HANDLERS_H_
