// A trial: restarts and runs around its allocations.
//
//             slots assigned
//   QUEUED ──────────────────► RUNNING ──► COMPLETED   exit 0, or stopped by the searcher
//     ▲ │                        │ │ │
//     │ │ pause         preempted│ │ └───► ERROR       failed more than max_restarts times, or the
//     │ ▼                        │ │                   code is invalid
//   PAUSED ◄─────────────────────┘ │ failed, restarts left: a new run, QUEUED
//     │                            │
//     │ kill, cancel               ▼ pause, hold, kill, cancel, searcher stop
//     └──────────► CANCELED ◄── STOPPING (end_as says what it becomes)
//
// Its max_run_time ends it as a cancel does.
//
// A trial is PAUSED with its experiment, because the searcher holds it at its rung (`held`), or
// because the trial from which it is to start has not saved yet (`waits_for`); it goes on when none
// of these is left.
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
  // The searcher holds it at its rung: PAUSED, or on its way there. Only Resume lets it go on.
  bool held = false;
  std::string reason;                             // of the end, or of the last restart
  int restarts = 0;                               // that count against max_restarts
  int run_id = 0;                                 // number of the present or next run
  std::optional<model::AllocationId> allocation;  // of the present run
  std::optional<model::CheckpointId> latest_checkpoint;
  // Its parent, which saves before this trial takes the checkpoint as its warm_start.
  std::optional<model::TrialId> waits_for;
  // A checkpoint of another trial, from which it starts while it has none of its own.
  std::optional<model::CheckpointId> warm_start;
  int64_t steps_completed = 0;  // at its latest checkpoint: where the next run resumes
  double progress = 0;
  std::string runner_state;
  std::vector<model::AgentId> blocked;  // where it must not run again
  // Where a run of it failed as on broken hardware: not again, until somebody enables them.
  std::vector<model::AgentId> suspects;
  absl::Duration run_time;  // of all its runs that have ended
  std::string no_restart;   // why its next failure is its last; empty: it is not
  // The searcher's metric: best (by direction) and latest.
  std::optional<double> best_metric;
  std::optional<double> latest_metric;
  int64_t best_steps = 0;
  absl::Time created_at;
  std::optional<absl::Time> ended_at;
  friend bool operator==(const Trial&, const Trial&) = default;
};

// What the caller must bring about.
struct TrialActions {
  bool changed = false;
  bool new_run = false;  // make and queue the allocation of run `run_id`
  enum class Release { kNone, kPreempt, kStop } release = Release::kNone;  // of its allocation
  std::string why;     // of the release, where the state does not say
  bool ended = false;  // it is terminal, just now
};

// Its allocation has got slots.
TrialActions OnAssigned(Trial& trial);

// Requests. One that asks for what is so already, or is on its way, changes nothing.
TrialActions Pause(Trial& trial, absl::Time now);
TrialActions Activate(Trial& trial);
// The searcher's pause and its end. Resume wakes the trial only if its experiment is active.
TrialActions Hold(Trial& trial, absl::Time now);
TrialActions Resume(Trial& trial, bool experiment_active);
// Its parent has saved `checkpoint`.
TrialActions OnParentSaved(Trial& trial, std::optional<model::CheckpointId> checkpoint,
                           bool experiment_active);
// One that has ended runs again from its newest checkpoint, with all its restarts.
TrialActions Continue(Trial& trial);
// Lets it save, then ends it as `end` (kCanceled or kCompleted).
TrialActions Finish(Trial& trial, model::TrialState end, absl::Time now);
// Ends it as CANCELED, at once.
TrialActions Kill(Trial& trial, absl::Time now);

// It has run for as long as it may: it saves and ends as CANCELED, for `reason`.
TrialActions TimeOver(Trial& trial, const std::string& reason, absl::Time now);

// Its allocation has ended for `reason`: what becomes of the trial. `message` says why in words.
TrialActions OnRunEnded(Trial& trial, model::ExitReason reason, const std::string& message,
                        int max_restarts, absl::Time now);

}  // namespace det::experiment

#endif  // MASTER_CORE_EXPERIMENT_TRIAL_H_
