#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "master/core/cluster/handlers.h"
#include "master/core/cluster/regenerate.h"
#include "master/core/cluster/scheduler_input.h"

namespace det::cluster {
namespace {

using experiment::ExperimentEvent;
using experiment::Trial;
using experiment::TrialActions;
using model::ExperimentState;
using model::TrialState;

// The time between SIGTERM and SIGKILL of a kill: enough to flush a file, not to continue training.
constexpr absl::Duration kKillGrace = absl::Seconds(1);

// Queues the allocation of the trial's next attempt.
void QueueNewAttempt(Step& step, Trial& trial) {
  const Entry& entry = step.GetEntry(trial);
  const model::ResourcesConfig& resources = entry.experiment.config->resources;
  if (GetRemainingWorkTime(step.s, trial) <= absl::ZeroDuration()) {
    return ApplyActions(
        step, trial, experiment::OnRunTimeExceeded(trial, DescribeRunTimeLimit(resources), step.now));
  }
  experiment::Allocation allocation;
  allocation.id = model::AllocationId(absl::StrCat(trial.task.value(), ".", trial.run_id));
  allocation.task = trial.task;
  allocation.trial = trial.id;
  allocation.run_id = trial.run_id;
  allocation.job = entry.experiment.job;
  allocation.resource_pool = entry.experiment.queue.resource_pool;
  allocation.slots = resources.slots_per_trial;
  const bool elastic = resources.max_slots_per_trial > resources.slots_per_trial;
  if (elastic) allocation.max_slots = resources.max_slots_per_trial;
  allocation.fraction = resources.slot_fraction;
  allocation.submitted = ++step.s.last_submitted;
  allocation.queued_at = step.now;
  trial.allocation = allocation.id;
  step.Touch(step.s.allocations.emplace(allocation.id, std::move(allocation)).first->second);
  step.Touch(trial);
  step.Reschedule();
}

searcher::TrialEnd GetTrialEnd(const Step& step, const Trial& trial) {
  switch (trial.state) {
    case TrialState::kCompleted:
      return searcher::TrialEnd::kCompleted;
    case TrialState::kCanceled:
      return searcher::TrialEnd::kCanceled;
    default:
      break;
  }
  if (trial.allocation) {
    const auto it = step.s.allocations.find(*trial.allocation);
    if (it != step.s.allocations.end() && it->second.exit_reason == model::ExitReason::kInvalidHp) {
      return searcher::TrialEnd::kInvalidHp;
    }
  }
  return searcher::TrialEnd::kFailed;
}

void OnEnded(Step& step, Trial& trial) {
  const bool bad = trial.state == TrialState::kError;
  step.Log(trial, trial.allocation.value_or(model::AllocationId()),
           bad ? model::LogLevel::kError : model::LogLevel::kInfo,
           absl::StrCat("trial ", trial.id.value(),
                        " ended: ", std::string(model::ToString(trial.state)),
                        trial.reason.empty() ? "" : ": ", trial.reason));
  Entry& entry = step.GetEntry(trial);
  const bool timed = trial.state == TrialState::kCanceled &&
                     trial.run_time > absl::ZeroDuration() &&
                     GetRemainingWorkTime(step.s, trial) <= absl::ZeroDuration();
  if (bad || timed)
    entry.experiment.reason = absl::StrCat("trial ", trial.id.value(), ": ", trial.reason);
  NotifySearcher(step, entry, searcher::TrialExited{trial.request, GetTrialEnd(step, trial)});
  entry.experiment.progress = std::max(entry.experiment.progress, entry.searcher.Progress());
  step.Touch(entry.experiment);
  EndIfDone(step, entry);
}

// Returns the checkpoint with the newest weights of a trial.
const std::optional<model::CheckpointId>& GetNewestCheckpoint(const Trial& trial) {
  return trial.latest_checkpoint ? trial.latest_checkpoint : trial.warm_start;
}

// Sets the checkpoint from which the trial starts: that of its parent, once the parent has saved,
// or that of the experiment.
void SetWarmStart(const Step& step, Entry& entry, const searcher::CreateTrial& create,
                  Trial& trial) {
  const auto it = create.parent ? entry.trials.find(*create.parent) : entry.trials.end();
  if (it == entry.trials.end()) {
    trial.warm_start = entry.experiment.warm_start;
    return;
  }
  const Trial& parent = step.s.trials.at(it->second);
  if (parent.state == TrialState::kStopping) {
    trial.waits_for = parent.id;
    entry.waiting.insert(trial.id);
  } else {
    trial.warm_start = GetNewestCheckpoint(parent);
  }
}

// Returns the trial of the request; null if it has ended.
Trial* FindLive(Step& step, const Entry& entry, const model::RequestId& request) {
  const auto it = entry.trials.find(request);
  if (it == entry.trials.end()) return nullptr;
  Trial& trial = step.s.trials.at(it->second);
  return model::IsTerminal(trial.state) ? nullptr : &trial;
}

void ApplyOperation(Step& step, Entry& entry, const searcher::CreateTrial& create) {
  if (const auto it = entry.trials.find(create.request); it != entry.trials.end()) {
    return RequeueTrial(step, entry, create, step.s.trials.at(it->second));
  }
  Trial trial;
  trial.id = model::TrialId(++step.s.last_trial);
  trial.experiment = entry.experiment.id;
  trial.request = create.request;
  trial.task = model::TaskId(absl::StrCat(entry.experiment.id.value(), ".", trial.id.value()));
  trial.run_id = experiment::kFirstRun;
  trial.seed = create.seed;
  trial.hparams = create.hparams;
  SetWarmStart(step, entry, create, trial);
  trial.created_at = step.now;
  const bool paused = entry.experiment.state == ExperimentState::kPaused || trial.waits_for;
  trial.state = paused ? TrialState::kPaused : TrialState::kQueued;
  entry.trials.emplace(trial.request, trial.id);
  Trial& stored = step.s.trials.emplace(trial.id, std::move(trial)).first->second;
  step.Touch(stored);
  if (!paused) QueueNewAttempt(step, stored);
  NotifySearcher(step, entry, searcher::TrialCreated{create.request});
}

void ApplyOperation(Step& step, Entry& entry, const searcher::StopTrial& stop) {
  Trial* trial = FindLive(step, entry, stop.request);
  if (trial == nullptr) return;
  ApplyActions(step, *trial, experiment::Finish(*trial, TrialState::kCompleted, step.now));
}

void ApplyOperation(Step& step, Entry& entry, const searcher::PauseTrial& pause) {
  Trial* trial = FindLive(step, entry, pause.request);
  if (trial != nullptr) ApplyActions(step, *trial, experiment::Hold(*trial, step.now));
}

void ApplyOperation(Step& step, Entry& entry, const searcher::ResumeTrial& resume) {
  Trial* trial = FindLive(step, entry, resume.request);
  if (trial == nullptr) return;
  const bool active = entry.experiment.state == ExperimentState::kActive;
  ApplyActions(step, *trial, experiment::Resume(*trial, active));
}

void ApplyOperation(Step& step, Entry& entry, const searcher::Shutdown& shutdown) {
  experiment::Experiment& e = entry.experiment;
  const ExperimentEvent event = shutdown.failed     ? ExperimentEvent::kFail
                                : shutdown.canceled ? ExperimentEvent::kCancel
                                                    : ExperimentEvent::kFinish;
  if (!experiment::Move(e, event)) return;
  if (!shutdown.failed && !shutdown.canceled) e.reason.clear();
  step.Touch(e);
  // The searcher will not resume held trials any more.
  for (const auto& [request, id] : entry.trials) {
    Trial& trial = step.s.trials.at(id);
    if (trial.held)
      ApplyActions(step, trial, experiment::Finish(trial, TrialState::kCompleted, step.now));
  }
}

std::string GetReleaseReason(const Trial& trial) {
  if (trial.end_as == TrialState::kCompleted) return "the searcher stopped this trial early";
  if (trial.held) return "the searcher paused this trial until others reach the same rung";
  return trial.end_as == TrialState::kPaused ? "the experiment was paused"
                                             : "the experiment was canceled";
}

}  // namespace

void ApplyActions(Step& step, Trial& trial, const TrialActions& actions) {
  if (actions.changed) step.Touch(trial);
  // A queued allocation has no run that must end: it is withdrawn at once.
  if (actions.release != TrialActions::Release::kNone && trial.allocation) {
    const auto it = step.s.allocations.find(*trial.allocation);
    if (it != step.s.allocations.end()) {
      experiment::Allocation& allocation = it->second;
      const absl::Duration timeout = GetPreemptionGrace(step.s, allocation, step.now);
      ApplyActions(
          step, allocation,
          actions.release == TrialActions::Release::kPreempt
              ? experiment::Preempt(allocation,
                                    actions.why.empty() ? GetReleaseReason(trial) : actions.why,
                                    timeout, step.now)
              : experiment::Stop(allocation, kKillGrace, step.now));
    }
  }
  if (actions.new_attempt) QueueNewAttempt(step, trial);
  if (actions.ended) OnEnded(step, trial);
}

void StartChildren(Step& step, const Trial& parent) {
  Entry& entry = step.GetEntry(parent);
  const bool active = entry.experiment.state == ExperimentState::kActive;
  for (auto it = entry.waiting.begin(); it != entry.waiting.end();) {
    Trial& child = step.s.trials.at(*it);
    const bool over = model::IsTerminal(child.state);
    if (!over && child.waits_for != parent.id) {
      ++it;
      continue;
    }
    it = entry.waiting.erase(it);
    if (!over)
      ApplyActions(step, child,
                   experiment::OnParentSaved(child, GetNewestCheckpoint(parent), active));
  }
}

bool IsSearching(const experiment::Experiment& e) {
  return e.state == ExperimentState::kActive || e.state == ExperimentState::kPaused;
}

void NotifySearcher(Step& step, Entry& entry, const searcher::Event& event) {
  if (!IsSearching(entry.experiment)) return;
  step.Journal(entry, event);
  ApplyOperations(step, entry, entry.searcher.Handle(event));
}

void ApplyOperations(Step& step, Entry& entry, std::vector<searcher::Operation> operations) {
  for (searcher::Operation& operation : operations)
    step.pending_operations.push_back(std::move(operation));
  // The outermost call applies them all, in the order in which they were returned.
  if (std::exchange(step.applying_operations, true)) return;
  while (!step.pending_operations.empty()) {
    const searcher::Operation operation = std::move(step.pending_operations.front());
    step.pending_operations.pop_front();
    std::visit([&](const auto& kind) { ApplyOperation(step, entry, kind); }, operation);
  }
  step.applying_operations = false;
  EndIfDone(step, entry);
}

void EndIfDone(Step& step, Entry& entry) {
  experiment::Experiment& e = entry.experiment;
  if (IsSearching(e)) return;
  for (const auto& [request, id] : entry.trials) {
    if (!model::IsTerminal(step.s.trials.at(id).state)) return;
  }
  if (!experiment::Move(e, ExperimentEvent::kEnd)) return;
  if (e.state == ExperimentState::kCompleted) e.progress = 1;
  e.ended_at = step.now;
  step.Touch(e);
}

}  // namespace det::cluster
