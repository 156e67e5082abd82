// A trial: its attempts, each with one allocation, and its restarts.
//
//             slots assigned
//   QUEUED ──────────────────► RUNNING ──► COMPLETED   exit 0, or stopped by the searcher
//     ▲ │                        │ │ │
//     │ │ pause         preempted│ │ └───► ERROR       failed more than max_restarts times, or the
//     │ ▼                        │ │                   code is invalid
//   PAUSED ◄─────────────────────┘ │ failed, restarts left: a new attempt, QUEUED
//     │                            │
//     │ kill, cancel               ▼ pause, hold, kill, cancel, searcher stop
//     └──────────► CANCELED ◄── STOPPING (`end_as` is the next state)
//
// A trial whose max_run_time is exceeded ends like a canceled one.
//
// A trial is PAUSED with its experiment, because the searcher holds it at its rung (`held`), or
// because its parent has not saved a checkpoint yet (`waits_for`). It resumes when none of these
// holds any more.
//
// PURE; table in tables.h.
#ifndef MASTER_CORE_EXPERIMENT_TRIAL_H_
#define MASTER_CORE_EXPERIMENT_TRIAL_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "master/core/model/ids.h"
#include "master/core/model/states.h"
#include "master/core/model/value.h"

namespace det::experiment {

// The number of the first attempt of a trial that the cluster runs.
constexpr int kFirstRun = 1;

struct Trial {
  model::TrialId id;
  model::ExperimentId experiment;
  model::RequestId request;
  model::TaskId task;
  uint32_t seed = 0;
  model::Hparams hparams;
  model::TrialState state = model::TrialState::kQueued;
  // While kStopping: what it becomes once its allocation has ended.
  std::optional<model::TrialState> end_as;
  // The searcher holds it at its rung: it is PAUSED or is being paused. Only Resume continues it.
  bool held = false;
  std::string reason;  // of the end, or of the last restart
  int restarts = 0;    // counted against max_restarts
  // Number of the current or next attempt: the cluster counts from kFirstRun. 0: an unmanaged trial
  // that has not been started, or the first attempt of a trial of an older version.
  int run_id = 0;
  // The first attempt after each time that its experiment was continued, in order. Clients see
  // another task for each (GetTask).
  std::vector<int> continued_runs;
  std::optional<model::AllocationId> allocation;  // of the current attempt
  std::optional<model::CheckpointId> latest_checkpoint;
  // Its parent, which must save the checkpoint that becomes this trial's warm_start.
  std::optional<model::TrialId> waits_for;
  // A checkpoint of another trial, from which it starts until it has one of its own.
  std::optional<model::CheckpointId> warm_start;
  int64_t steps_completed = 0;  // at its latest checkpoint: where the next attempt resumes
  double progress = 0;
  std::string runner_state;
  std::vector<model::AgentId> blocked;  // excluded by log policies
  // Agents where an attempt failed with a suspected hardware failure; excluded until they are
  // enabled.
  std::vector<model::AgentId> suspects;
  absl::Duration run_time;  // of all its ended attempts
  std::string no_restart;   // why it is not restarted after a failure; empty: it is
  std::string log_policy;   // the log policy that matched last; empty: none
  // The searcher's metric: best (by direction) and latest.
  std::optional<double> best_metric;
  std::optional<double> latest_metric;
  int64_t best_steps = 0;
  // The ID by which programs outside of the cluster know a trial of an unmanaged experiment.
  std::optional<std::string> external_id;
  absl::Time created_at;
  std::optional<absl::Time> ended_at;
  friend bool operator==(const Trial&, const Trial&) = default;
};

// What the caller must do.
struct TrialActions {
  bool changed = false;
  bool new_attempt = false;  // create and queue the allocation of attempt `run_id`
  enum class Release { kNone, kPreempt, kStop } release = Release::kNone;  // of its allocation
  std::string why;     // the reason of the release, if the state does not imply it
  bool ended = false;  // it has just become terminal
};

// Returns the number of the task to which an attempt belongs: how often the experiment had been
// continued before.
int GetTaskNumber(const Trial& trial, int run_id);
// Returns the ID of its task `number`: "3.7", "3.7-1", ...
model::TaskId GetTask(const Trial& trial, int number);

// Its allocation was assigned slots.
TrialActions OnAssigned(Trial& trial);

// Requests of users. A request for the current or the pending state changes nothing.
TrialActions Pause(Trial& trial, absl::Time now);
TrialActions Activate(Trial& trial);
// Pause and resume by the searcher. Resume queues the trial only if its experiment is active.
TrialActions Hold(Trial& trial, absl::Time now);
TrialActions Resume(Trial& trial, bool experiment_active);
// Its parent has saved `checkpoint`.
TrialActions OnParentSaved(Trial& trial, std::optional<model::CheckpointId> checkpoint,
                           bool experiment_active);
// Runs an ended trial again from its newest checkpoint, with all its restarts.
TrialActions Continue(Trial& trial);
// Lets it checkpoint, then ends it as `end` (kCanceled or kCompleted).
TrialActions Finish(Trial& trial, model::TrialState end, absl::Time now);
// Ends it as CANCELED, at once.
TrialActions Kill(Trial& trial, absl::Time now);

// Its max_run_time is exceeded: it checkpoints and ends as CANCELED, with `reason`.
TrialActions OnRunTimeExceeded(Trial& trial, const std::string& reason, absl::Time now);

// Its allocation has ended for `reason`: determines the next state. `message` explains the reason.
TrialActions OnAttemptEnded(Trial& trial, model::ExitReason reason, const std::string& message,
                            int max_restarts, absl::Time now);

}  // namespace det::experiment

#endif  // MASTER_CORE_EXPERIMENT_TRIAL_H_
