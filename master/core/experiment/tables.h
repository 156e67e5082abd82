// The transition tables of the four state machines. docs/state_machines.md is generated from them.
// PURE.
#ifndef MASTER_CORE_EXPERIMENT_TABLES_H_
#define MASTER_CORE_EXPERIMENT_TABLES_H_

#include <string_view>

#include "base/transition.h"
#include "master/core/model/states.h"

namespace det::experiment {

enum class AllocationEvent {
  kAssign,      // the scheduler assigned slots
  kWithdraw,    // no longer needed while queued
  kAllStarted,  // every local task has started
  kPreempt,     // must checkpoint and exit
  kStop,        // stopped; or a local task failed, and the others must end
  kAllExited,   // the last local task has exited
};

inline constexpr base::Transition<model::AllocationState, AllocationEvent> kAllocationTable[] = {
    {{model::AllocationState::kQueued},
     AllocationEvent::kAssign,
     model::AllocationState::kAssigned},
    {{model::AllocationState::kQueued},
     AllocationEvent::kWithdraw,
     model::AllocationState::kTerminated},
    {{model::AllocationState::kAssigned},
     AllocationEvent::kAllStarted,
     model::AllocationState::kRunning},
    {{model::AllocationState::kAssigned, model::AllocationState::kRunning},
     AllocationEvent::kPreempt,
     model::AllocationState::kPreempting},
    {{model::AllocationState::kAssigned, model::AllocationState::kRunning,
      model::AllocationState::kPreempting},
     AllocationEvent::kStop,
     model::AllocationState::kStopping},
    {{model::AllocationState::kAssigned, model::AllocationState::kRunning,
      model::AllocationState::kPreempting, model::AllocationState::kStopping},
     AllocationEvent::kAllExited,
     model::AllocationState::kTerminated},
};
static_assert(base::IsDeterministic(kAllocationTable));

enum class TrialEvent {
  kAssigned,  // its allocation has slots
  kPause,     // or held by the searcher; if it holds slots, kRelease comes first
  kActivate,
  kRelease,   // pause, hold, cancel, kill or searcher stop, while it holds slots
  kRunAgain,  // preempted, lost its node, or failed with restarts left
  kPaused,    // its slots were released for a pause
  kComplete,
  kCancel,
  kFail,
  kRunTimeExceeded,  // its max_run_time
  kContinue,         // its experiment was continued after its end
};

inline constexpr base::Transition<model::TrialState, TrialEvent> kTrialTable[] = {
    {{model::TrialState::kQueued}, TrialEvent::kAssigned, model::TrialState::kRunning},
    {{model::TrialState::kQueued}, TrialEvent::kPause, model::TrialState::kPaused},
    {{model::TrialState::kPaused}, TrialEvent::kActivate, model::TrialState::kQueued},
    {{model::TrialState::kRunning}, TrialEvent::kRelease, model::TrialState::kStopping},
    {{model::TrialState::kRunning, model::TrialState::kStopping},
     TrialEvent::kRunAgain,
     model::TrialState::kQueued},
    {{model::TrialState::kStopping}, TrialEvent::kPaused, model::TrialState::kPaused},
    {{model::TrialState::kQueued, model::TrialState::kPaused, model::TrialState::kRunning,
      model::TrialState::kStopping},
     TrialEvent::kComplete,
     model::TrialState::kCompleted},
    {{model::TrialState::kQueued, model::TrialState::kPaused, model::TrialState::kStopping},
     TrialEvent::kCancel,
     model::TrialState::kCanceled},
    {{model::TrialState::kRunning, model::TrialState::kStopping},
     TrialEvent::kFail,
     model::TrialState::kError},
    {{model::TrialState::kRunning}, TrialEvent::kRunTimeExceeded, model::TrialState::kStopping},
    {{model::TrialState::kQueued}, TrialEvent::kRunTimeExceeded, model::TrialState::kCanceled},
    {{model::TrialState::kCompleted, model::TrialState::kCanceled, model::TrialState::kError},
     TrialEvent::kContinue,
     model::TrialState::kQueued},
};
static_assert(base::IsDeterministic(kTrialTable));

// Events of a task that is not a trial.
enum class TaskEvent {
  kAssigned,  // its allocation has slots
  kPause,     // without slots
  kActivate,
  kRelease,   // pause or kill, while it holds slots
  kRunAgain,  // preempted, lost before its program started, or activated while it was stopping
  kPaused,    // its slots were released for a pause
  kComplete,
  kCancel,
  kFail,
};

inline constexpr base::Transition<model::TaskState, TaskEvent> kTaskTable[] = {
    {{model::TaskState::kQueued}, TaskEvent::kAssigned, model::TaskState::kRunning},
    {{model::TaskState::kQueued}, TaskEvent::kPause, model::TaskState::kPaused},
    {{model::TaskState::kPaused}, TaskEvent::kActivate, model::TaskState::kQueued},
    {{model::TaskState::kRunning}, TaskEvent::kRelease, model::TaskState::kStopping},
    {{model::TaskState::kRunning, model::TaskState::kStopping},
     TaskEvent::kRunAgain,
     model::TaskState::kQueued},
    {{model::TaskState::kStopping}, TaskEvent::kPaused, model::TaskState::kPaused},
    {{model::TaskState::kRunning, model::TaskState::kStopping},
     TaskEvent::kComplete,
     model::TaskState::kCompleted},
    {{model::TaskState::kQueued, model::TaskState::kPaused, model::TaskState::kStopping},
     TaskEvent::kCancel,
     model::TaskState::kCanceled},
    {{model::TaskState::kRunning, model::TaskState::kStopping},
     TaskEvent::kFail,
     model::TaskState::kError},
};
static_assert(base::IsDeterministic(kTaskTable));

enum class ExperimentEvent {
  kPause,
  kActivate,
  kFinish,  // the searcher shut down
  kCancel,  // cancel, kill
  kFail,    // the search has failed
  kEnd,     // every trial has ended
  kContinue,
};

inline constexpr base::Transition<model::ExperimentState, ExperimentEvent> kExperimentTable[] = {
    {{model::ExperimentState::kActive}, ExperimentEvent::kPause, model::ExperimentState::kPaused},
    {{model::ExperimentState::kPaused},
     ExperimentEvent::kActivate,
     model::ExperimentState::kActive},
    {{model::ExperimentState::kActive, model::ExperimentState::kPaused},
     ExperimentEvent::kFinish,
     model::ExperimentState::kStoppingCompleted},
    {{model::ExperimentState::kActive, model::ExperimentState::kPaused,
      model::ExperimentState::kStoppingCompleted},
     ExperimentEvent::kCancel,
     model::ExperimentState::kStoppingCanceled},
    {{model::ExperimentState::kActive, model::ExperimentState::kPaused},
     ExperimentEvent::kFail,
     model::ExperimentState::kStoppingError},
    {{model::ExperimentState::kStoppingCompleted},
     ExperimentEvent::kEnd,
     model::ExperimentState::kCompleted},
    {{model::ExperimentState::kStoppingCanceled},
     ExperimentEvent::kEnd,
     model::ExperimentState::kCanceled},
    {{model::ExperimentState::kStoppingError},
     ExperimentEvent::kEnd,
     model::ExperimentState::kError},
    {{model::ExperimentState::kCompleted, model::ExperimentState::kCanceled,
      model::ExperimentState::kError},
     ExperimentEvent::kContinue,
     model::ExperimentState::kActive},
};
static_assert(base::IsDeterministic(kExperimentTable));

std::string_view ToString(AllocationEvent event);
std::string_view ToString(TrialEvent event);
std::string_view ToString(TaskEvent event);
std::string_view ToString(ExperimentEvent event);

}  // namespace det::experiment

#endif  // MASTER_CORE_EXPERIMENT_TABLES_H_
