// The three state machines as tables. The machines move by them, docs/state_machines.md is written
// from them. PURE.
#ifndef MASTER_CORE_EXPERIMENT_TABLES_H_
#define MASTER_CORE_EXPERIMENT_TABLES_H_

#include <string_view>

#include "base/transition.h"
#include "master/core/model/states.h"

namespace det::experiment {

enum class AllocationEvent {
  kAssign,      // the scheduler gave it slots
  kWithdraw,    // nobody wants it any more
  kAllStarted,  // every share runs
  kPreempt,     // asked to save and exit
  kStop,        // asked to end; or a share failed, and the others must end
  kAllExited,   // the last share has ended
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
  kPause,     // or held by the searcher; while it holds slots this goes by kRelease first
  kActivate,
  kRelease,   // pause, hold, cancel, kill or enough seen, while it holds slots
  kRunAgain,  // preempted, lost its node, or failed with restarts left
  kPaused,    // released, and paused it becomes
  kComplete,
  kCancel,
  kFail,
  kTimeOver,  // its max_run_time
  kContinue,  // its experiment goes on after its end
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
    {{model::TrialState::kRunning}, TrialEvent::kTimeOver, model::TrialState::kStopping},
    {{model::TrialState::kQueued}, TrialEvent::kTimeOver, model::TrialState::kCanceled},
    {{model::TrialState::kCompleted, model::TrialState::kCanceled, model::TrialState::kError},
     TrialEvent::kContinue,
     model::TrialState::kQueued},
};
static_assert(base::IsDeterministic(kTrialTable));

enum class ExperimentEvent {
  kPause,
  kActivate,
  kFinish,  // the searcher asks for nothing more
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
std::string_view ToString(ExperimentEvent event);

}  // namespace det::experiment

#endif  // MASTER_CORE_EXPERIMENT_TABLES_H_
