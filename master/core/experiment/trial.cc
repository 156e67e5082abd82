#include "master/core/experiment/trial.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "master/core/experiment/tables.h"

namespace det::experiment {
namespace {

using model::ExitReason;
using model::TrialState;
using Release = TrialActions::Release;

bool Move(Trial& trial, TrialEvent event) {
  const std::optional<TrialState> next = base::Lookup(kTrialTable, trial.state, event);
  if (next) trial.state = *next;
  return next.has_value();
}

TrialActions End(Trial& trial, TrialEvent event, absl::Time now) {
  TrialActions actions;
  if (!Move(trial, event)) return actions;
  trial.end_as.reset();
  trial.held = false;
  trial.waits_for.reset();
  trial.ended_at = now;
  if (trial.state == TrialState::kCompleted) trial.progress = 1;
  actions.changed = true;
  actions.ended = true;
  return actions;
}

TrialActions RunAgain(Trial& trial) {
  TrialActions actions;
  if (!Move(trial, TrialEvent::kRunAgain)) return actions;
  trial.end_as.reset();
  ++trial.run_id;
  actions.changed = true;
  actions.new_attempt = true;
  return actions;
}

// Releases the slots of a trial that holds them, to become `end_as`. Later requests replace earlier
// ones, except a cancel; a kill speeds up a release in progress.
TrialActions ReleaseSlots(Trial& trial, TrialState end_as, Release release) {
  TrialActions actions;
  if (trial.state == TrialState::kStopping) {
    const bool canceled = trial.end_as == TrialState::kCanceled;
    actions.changed = !canceled && trial.end_as != end_as;
    if (!canceled) trial.end_as = end_as;
    if (end_as != TrialState::kPaused) trial.held = false;
    if (release == Release::kStop) actions.release = release;
    return actions;
  }
  if (!Move(trial, TrialEvent::kRelease)) return actions;
  trial.end_as = end_as;
  actions.changed = true;
  actions.release = release;
  return actions;
}

bool HoldsSlots(const Trial& trial) {
  return trial.state == TrialState::kRunning || trial.state == TrialState::kStopping;
}

TrialActions OnFailed(Trial& trial, const std::string& message, int max_restarts, absl::Time now) {
  if (!trial.no_restart.empty()) {
    trial.reason = absl::StrCat(message, "; ", trial.no_restart);
    return End(trial, TrialEvent::kFail, now);
  }
  if (trial.restarts >= max_restarts) {
    trial.reason = message;
    if (max_restarts == 1) absl::StrAppend(&trial.reason, "; its only restart is used up");
    if (max_restarts > 1) {
      absl::StrAppend(&trial.reason, "; all ", max_restarts, " restarts are used up");
    }
    return End(trial, TrialEvent::kFail, now);
  }
  ++trial.restarts;
  trial.reason = message;
  if (trial.end_as == TrialState::kPaused) {
    TrialActions actions;
    actions.changed = Move(trial, TrialEvent::kPaused);
    trial.end_as.reset();
    ++trial.run_id;
    return actions;
  }
  return RunAgain(trial);
}

// The trial was requested to release its slots, and its attempt has ended.
TrialActions OnReleased(Trial& trial, absl::Time now) {
  switch (*trial.end_as) {
    case TrialState::kCanceled:
      return End(trial, TrialEvent::kCancel, now);
    case TrialState::kCompleted:
      return End(trial, TrialEvent::kComplete, now);
    case TrialState::kPaused: {
      TrialActions actions;
      actions.changed = Move(trial, TrialEvent::kPaused);
      trial.end_as.reset();
      ++trial.run_id;
      return actions;
    }
    default:
      return RunAgain(trial);
  }
}

}  // namespace

int GetTaskNumber(const Trial& trial, int run_id) {
  const auto& runs = trial.continued_runs;
  return static_cast<int>(std::upper_bound(runs.begin(), runs.end(), run_id) - runs.begin());
}

model::TaskId GetTask(const Trial& trial, int number) {
  if (number == 0) return trial.task;
  return model::TaskId(absl::StrCat(trial.task.value(), "-", number));
}

TrialActions OnAssigned(Trial& trial) {
  TrialActions actions;
  actions.changed = Move(trial, TrialEvent::kAssigned);
  // The reason why the previous attempt ended is stored with that attempt.
  if (actions.changed) trial.reason.clear();
  return actions;
}

TrialActions Pause(Trial& trial, absl::Time) {
  if (HoldsSlots(trial)) {
    // It is already ending, which takes precedence over a pause.
    if (trial.end_as && *trial.end_as != TrialState::kQueued) return {};
    return ReleaseSlots(trial, TrialState::kPaused, Release::kPreempt);
  }
  TrialActions actions;
  if (!Move(trial, TrialEvent::kPause)) return actions;
  ++trial.run_id;
  actions.changed = true;
  actions.release = Release::kStop;
  return actions;
}

TrialActions Activate(Trial& trial) {
  TrialActions actions;
  if (trial.held || trial.waits_for) return actions;
  if (trial.state == TrialState::kStopping && trial.end_as == TrialState::kPaused) {
    return ReleaseSlots(trial, TrialState::kQueued, Release::kNone);
  }
  if (!Move(trial, TrialEvent::kActivate)) return actions;
  actions.changed = true;
  actions.new_attempt = true;
  return actions;
}

TrialActions Hold(Trial& trial, absl::Time now) {
  const bool ending = trial.end_as == TrialState::kCanceled ||
                      trial.end_as == TrialState::kCompleted || model::IsTerminal(trial.state);
  if (trial.held || ending) return {};
  TrialActions actions = Pause(trial, now);
  trial.held = true;
  actions.changed = true;
  return actions;
}

TrialActions Resume(Trial& trial, bool experiment_active) {
  if (!trial.held) return {};
  trial.held = false;
  TrialActions actions;
  if (experiment_active) actions = Activate(trial);
  actions.changed = true;
  return actions;
}

TrialActions OnParentSaved(Trial& trial, std::optional<model::CheckpointId> checkpoint,
                           bool experiment_active) {
  if (!trial.waits_for) return {};
  trial.waits_for.reset();
  trial.warm_start = std::move(checkpoint);
  TrialActions actions;
  if (experiment_active) actions = Activate(trial);
  actions.changed = true;
  return actions;
}

TrialActions Continue(Trial& trial) {
  TrialActions actions;
  if (!Move(trial, TrialEvent::kContinue)) return actions;
  trial.continued_runs.push_back(++trial.run_id);
  trial.restarts = 0;
  trial.run_time = absl::ZeroDuration();
  trial.no_restart.clear();
  trial.blocked.clear();
  trial.suspects.clear();
  trial.reason.clear();
  trial.progress = 0;
  trial.ended_at.reset();
  actions.changed = true;
  actions.new_attempt = true;
  return actions;
}

TrialActions Finish(Trial& trial, TrialState end, absl::Time now) {
  if (HoldsSlots(trial)) return ReleaseSlots(trial, end, Release::kPreempt);
  const bool queued = trial.state == TrialState::kQueued;
  TrialActions actions =
      End(trial, end == TrialState::kCompleted ? TrialEvent::kComplete : TrialEvent::kCancel, now);
  if (queued && actions.ended) actions.release = Release::kStop;
  return actions;
}

TrialActions Kill(Trial& trial, absl::Time now) {
  if (HoldsSlots(trial)) return ReleaseSlots(trial, TrialState::kCanceled, Release::kStop);
  return Finish(trial, TrialState::kCanceled, now);
}

TrialActions OnRunTimeExceeded(Trial& trial, const std::string& reason, absl::Time now) {
  if (trial.state == TrialState::kQueued) {
    TrialActions actions = End(trial, TrialEvent::kRunTimeExceeded, now);
    trial.reason = reason;
    return actions;
  }
  TrialActions actions;
  if (!Move(trial, TrialEvent::kRunTimeExceeded)) return actions;
  trial.end_as = TrialState::kCanceled;
  trial.reason = reason;
  actions.changed = true;
  actions.release = Release::kPreempt;
  actions.why = reason;
  return actions;
}

TrialActions OnAttemptEnded(Trial& trial, ExitReason reason, const std::string& message,
                            int max_restarts, absl::Time now) {
  if (!HoldsSlots(trial)) return {};
  const bool canceled = trial.end_as == TrialState::kCanceled;
  switch (reason) {
    case ExitReason::kFinished:
      return canceled ? End(trial, TrialEvent::kCancel, now)
                      : End(trial, TrialEvent::kComplete, now);
    case ExitReason::kInvalidCode:
    case ExitReason::kInvalidHp:
      if (canceled) return End(trial, TrialEvent::kCancel, now);
      trial.reason = message;
      return End(trial, TrialEvent::kFail, now);
    case ExitReason::kFailed:
      // A trial that the searcher stopped or a user canceled is not restarted.
      if (trial.end_as == TrialState::kCompleted || canceled) return OnReleased(trial, now);
      return OnFailed(trial, message, max_restarts, now);
    case ExitReason::kNodeLost:
    case ExitReason::kPreempted:
    case ExitReason::kStopped:
    case ExitReason::kNone:
      break;
  }
  if (trial.end_as) return OnReleased(trial, now);
  trial.reason = message;
  return RunAgain(trial);
}

}  // namespace det::experiment
