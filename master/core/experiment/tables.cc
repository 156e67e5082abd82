#include "master/core/experiment/tables.h"

namespace det::experiment {

std::string_view ToString(AllocationEvent event) {
  switch (event) {
    case AllocationEvent::kAssign:
      return "slots assigned";
    case AllocationEvent::kWithdraw:
      return "withdrawn";
    case AllocationEvent::kAllStarted:
      return "every share has started";
    case AllocationEvent::kPreempt:
      return "asked to save and exit";
    case AllocationEvent::kStop:
      return "told to end, or a share failed";
    case AllocationEvent::kAllExited:
      return "every share has exited";
  }
  return "";
}

std::string_view ToString(TrialEvent event) {
  switch (event) {
    case TrialEvent::kAssigned:
      return "slots assigned";
    case TrialEvent::kPause:
      return "pause, or held by the searcher, while it holds no slots";
    case TrialEvent::kActivate:
      return "activate, or let go on by the searcher";
    case TrialEvent::kRelease:
      return "pause, held by the searcher, cancel, kill or searcher stop, while it holds slots";
    case TrialEvent::kRunAgain:
      return "preempted, node lost, failed with restarts left, or activated or let go on again";
    case TrialEvent::kPaused:
      return "slots released for a pause, or because the searcher holds it";
    case TrialEvent::kComplete:
      return "exit code 0, or stopped by the searcher";
    case TrialEvent::kCancel:
      return "canceled or killed, and holds no slots";
    case TrialEvent::kFail:
      return "failed more than max_restarts times or where a log policy forbids a retry, or code "
             "or "
             "hyperparameters invalid";
    case TrialEvent::kTimeOver:
      return "its max_run_time is over";
    case TrialEvent::kContinue:
      return "its experiment is continued";
  }
  return "";
}

std::string_view ToString(ExperimentEvent event) {
  switch (event) {
    case ExperimentEvent::kPause:
      return "pause";
    case ExperimentEvent::kActivate:
      return "activate";
    case ExperimentEvent::kFinish:
      return "searcher shut down";
    case ExperimentEvent::kCancel:
      return "cancel or kill";
    case ExperimentEvent::kFail:
      return "search failed";
    case ExperimentEvent::kEnd:
      return "every trial has ended";
    case ExperimentEvent::kContinue:
      return "continue";
  }
  return "";
}

}  // namespace det::experiment
