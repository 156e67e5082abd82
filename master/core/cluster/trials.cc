#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "master/core/cluster/mirror.h"
#include "master/core/cluster/parts.h"
#include "master/core/cluster/regenerate.h"

namespace det::cluster {
namespace {

using experiment::ExperimentEvent;
using experiment::Trial;
using experiment::TrialActions;
using model::ExperimentState;
using model::TrialState;

// A kill leaves this long between SIGTERM and SIGKILL: enough to flush a file, not to train on.
constexpr absl::Duration kKillGrace = absl::Seconds(1);

// Queues the allocation of the trial's next run.
void NewRun(Step& step, Trial& trial) {
  const Entry& entry = step.EntryOf(trial);
  const model::ResourcesConfig& resources = entry.experiment.config->resources;
  if (WorkLeft(step.s, trial) <= absl::ZeroDuration()) {
    return Do(step, trial, experiment::TimeOver(trial, TimeIsOver(entry), step.now));
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

searcher::TrialEnd EndOf(const Step& step, const Trial& trial) {
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
  Entry& entry = step.EntryOf(trial);
  const bool timed = trial.state == TrialState::kCanceled &&
                     trial.run_time > absl::ZeroDuration() &&
                     WorkLeft(step.s, trial) <= absl::ZeroDuration();
  if (bad || timed)
    entry.experiment.reason = absl::StrCat("trial ", trial.id.value(), ": ", trial.reason);
  Tell(step, entry, searcher::TrialExited{trial.request, EndOf(step, trial)});
  entry.experiment.progress = std::max(entry.experiment.progress, entry.searcher.Progress());
  step.Touch(entry.experiment);
  EndIfDone(step, entry);
}

// The newest weights of a trial.
const std::optional<model::CheckpointId>& Newest(const Trial& trial) {
  return trial.latest_checkpoint ? trial.latest_checkpoint : trial.warm_start;
}

// From where the trial starts: its parent, once that has saved, or where the whole experiment does.
void SetWarmStart(const Step& step, Entry& entry, const searcher::CreateTrial& wish, Trial& trial) {
  const auto it = wish.parent ? entry.trials.find(*wish.parent) : entry.trials.end();
  if (it == entry.trials.end()) {
    trial.warm_start = entry.experiment.warm_start;
    return;
  }
  const Trial& parent = step.s.trials.at(it->second);
  if (parent.state == TrialState::kStopping) {
    trial.waits_for = parent.id;
    entry.waiting.insert(trial.id);
  } else {
    trial.warm_start = Newest(parent);
  }
}

// The trial that was asked for; null when it is over.
Trial* FindLive(Step& step, const Entry& entry, const model::RequestId& request) {
  const auto it = entry.trials.find(request);
  if (it == entry.trials.end()) return nullptr;
  Trial& trial = step.s.trials.at(it->second);
  return model::IsTerminal(trial.state) ? nullptr : &trial;
}

void Grant(Step& step, Entry& entry, const searcher::CreateTrial& wish) {
  if (const auto it = entry.trials.find(wish.request); it != entry.trials.end()) {
    return AskedAgain(step, entry, step.s.trials.at(it->second));
  }
  Trial trial;
  trial.id = model::TrialId(++step.s.last_trial);
  trial.experiment = entry.experiment.id;
  trial.request = wish.request;
  trial.task = model::TaskId(absl::StrCat(entry.experiment.id.value(), ".", trial.id.value()));
  trial.seed = wish.seed;
  trial.hparams = wish.hparams;
  SetWarmStart(step, entry, wish, trial);
  trial.created_at = step.now;
  const bool paused = entry.experiment.state == ExperimentState::kPaused || trial.waits_for;
  trial.state = paused ? TrialState::kPaused : TrialState::kQueued;
  entry.trials.emplace(trial.request, trial.id);
  Trial& stored = step.s.trials.emplace(trial.id, std::move(trial)).first->second;
  step.Touch(stored);
  if (!paused) NewRun(step, stored);
  Tell(step, entry, searcher::TrialCreated{wish.request});
}

void Grant(Step& step, Entry& entry, const searcher::StopTrial& wish) {
  Trial* trial = FindLive(step, entry, wish.request);
  if (trial == nullptr) return;
  Do(step, *trial, experiment::Finish(*trial, TrialState::kCompleted, step.now));
}

void Grant(Step& step, Entry& entry, const searcher::PauseTrial& wish) {
  Trial* trial = FindLive(step, entry, wish.request);
  if (trial != nullptr) Do(step, *trial, experiment::Hold(*trial, step.now));
}

void Grant(Step& step, Entry& entry, const searcher::ResumeTrial& wish) {
  Trial* trial = FindLive(step, entry, wish.request);
  if (trial == nullptr) return;
  const bool active = entry.experiment.state == ExperimentState::kActive;
  Do(step, *trial, experiment::Resume(*trial, active));
}

void Grant(Step& step, Entry& entry, const searcher::Shutdown& said) {
  experiment::Experiment& e = entry.experiment;
  const ExperimentEvent event = said.failed     ? ExperimentEvent::kFail
                                : said.canceled ? ExperimentEvent::kCancel
                                                : ExperimentEvent::kFinish;
  if (!experiment::Move(e, event)) return;
  if (!said.failed && !said.canceled) e.reason.clear();
  step.Touch(e);
  // Nobody will let these go on any more.
  for (const auto& [request, id] : entry.trials) {
    Trial& trial = step.s.trials.at(id);
    if (trial.held) Do(step, trial, experiment::Finish(trial, TrialState::kCompleted, step.now));
  }
}

std::string WhyReleased(const Trial& trial) {
  if (trial.end_as == TrialState::kCompleted) return "the search has seen enough of this trial";
  if (trial.held) return "the search holds this trial until others have come as far";
  return trial.end_as == TrialState::kPaused ? "the experiment was paused"
                                             : "the experiment was canceled";
}

}  // namespace

void Do(Step& step, Trial& trial, const TrialActions& actions) {
  if (actions.changed) step.Touch(trial);
  // A queued trial that was let go has no run to end it: its allocation only goes.
  if (actions.release != TrialActions::Release::kNone && trial.allocation) {
    const auto it = step.s.allocations.find(*trial.allocation);
    if (it != step.s.allocations.end()) {
      experiment::Allocation& allocation = it->second;
      const absl::Duration timeout = TimeToSave(step.s, allocation, step.now);
      Do(step, allocation,
         actions.release == TrialActions::Release::kPreempt
             ? experiment::Preempt(allocation,
                                   actions.why.empty() ? WhyReleased(trial) : actions.why, timeout,
                                   step.now)
             : experiment::Stop(allocation, kKillGrace, step.now));
    }
  }
  if (actions.new_run) NewRun(step, trial);
  if (actions.ended) OnEnded(step, trial);
}

void StartChildren(Step& step, const Trial& parent) {
  Entry& entry = step.EntryOf(parent);
  const bool active = entry.experiment.state == ExperimentState::kActive;
  for (auto it = entry.waiting.begin(); it != entry.waiting.end();) {
    Trial& child = step.s.trials.at(*it);
    const bool over = model::IsTerminal(child.state);
    if (!over && child.waits_for != parent.id) {
      ++it;
      continue;
    }
    it = entry.waiting.erase(it);
    if (!over) Do(step, child, experiment::OnParentSaved(child, Newest(parent), active));
  }
}

bool IsSearching(const experiment::Experiment& e) {
  return e.state == ExperimentState::kActive || e.state == ExperimentState::kPaused;
}

void Tell(Step& step, Entry& entry, const searcher::Event& event) {
  if (!IsSearching(entry.experiment)) return;
  step.Journal(entry, event);
  Do(step, entry, entry.searcher.Handle(event));
}

void Do(Step& step, Entry& entry, std::vector<searcher::Operation> operations) {
  for (searcher::Operation& operation : operations) step.wishes.push_back(std::move(operation));
  // The outermost call does them all, in the order in which they were asked for.
  if (std::exchange(step.granting, true)) return;
  while (!step.wishes.empty()) {
    const searcher::Operation operation = std::move(step.wishes.front());
    step.wishes.pop_front();
    std::visit([&](const auto& wish) { Grant(step, entry, wish); }, operation);
  }
  step.granting = false;
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
