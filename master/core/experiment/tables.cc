#include "master/core/experiment/tables.h"

namespace det::experiment {

std::string_view ToString(AllocationEvent event) {
  switch (event) {
    case AllocationEvent::kAssign:
      return "slots assigned";
    case AllocationEvent::kWithdraw:
      return "withdrawn";
    case AllocationEvent::kAllStarted:
      return "every local task has started";
    case AllocationEvent::kPreempt:
      return "preempted";
    case AllocationEvent::kStop:
      return "stopped, or a local task failed";
    case AllocationEvent::kAllExited:
      return "every local task has exited";
  }
  return "";
}

std::string_view ToString(TrialEvent event) {
  switch (event) {
    case TrialEvent::kAssigned:
      return "slots assigned";
    case TrialEvent::kPause:
      return "pause, or held by the searcher, without slots";
    case TrialEvent::kActivate:
      return "activate, or resumed by the searcher";
    case TrialEvent::kRelease:
      return "pause, held by the searcher, cancel, kill or searcher stop, with slots";
    case TrialEvent::kRunAgain:
      return "preempted, node lost, failed with restarts left, or activated or resumed again";
    case TrialEvent::kPaused:
      return "slots released for a pause or a hold by the searcher";
    case TrialEvent::kComplete:
      return "exit code 0, or stopped by the searcher";
    case TrialEvent::kCancel:
      return "canceled or killed, without slots";
    case TrialEvent::kFail:
      return "failed more than max_restarts times or when a log policy forbids a retry, or code or "
             "hyperparameters invalid";
    case TrialEvent::kRunTimeExceeded:
      return "max_run_time exceeded";
    case TrialEvent::kContinue:
      return "experiment continued";
  }
  return "";
}

std::string_view ToString(TaskEvent event) {
  switch (event) {
    case TaskEvent::kAssigned:
      return "slots assigned";
    case TaskEvent::kPause:
      return "pause, without slots";
    case TaskEvent::kActivate:
      return "activate";
    case TaskEvent::kRelease:
      return "pause or kill, with slots";
    case TaskEvent::kRunAgain:
      return "preempted, lost before its program started, or activated again";
    case TaskEvent::kPaused:
      return "slots released for a pause";
    case TaskEvent::kComplete:
      return "exit code 0";
    case TaskEvent::kCancel:
      return "killed, without slots";
    case TaskEvent::kFail:
      return "failed, or lost after its program started";
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
