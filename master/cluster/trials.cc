#include <algorithm>
#include <deque>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "master/cluster/state.h"

namespace det::cluster {
namespace {

using experiment::ExperimentEvent;
using experiment::Trial;
using experiment::TrialActions;
using model::ExperimentState;
using model::TrialState;

// A kill leaves this long between SIGTERM and SIGKILL: enough to flush a file, not to train on.
constexpr absl::Duration kKillGrace = absl::Seconds(1);

bool Searching(const experiment::Experiment& e) {
  return e.state == ExperimentState::kActive || e.state == ExperimentState::kPaused;
}

// Queues the allocation of the trial's next run.
void NewRun(Step& step, Trial& trial) {
  const Entry& entry = step.EntryOf(trial);
  experiment::Allocation allocation;
  allocation.id = model::AllocationId(absl::StrCat(trial.task.value(), ".", trial.run_id));
  allocation.task = trial.task;
  allocation.trial = trial.id;
  allocation.run_id = trial.run_id;
  allocation.job = entry.experiment.job;
  allocation.slots = entry.experiment.config->resources.slots_per_trial;
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
  if (bad) entry.experiment.reason = absl::StrCat("trial ", trial.id.value(), ": ", trial.reason);
  if (Searching(entry.experiment)) {
    Tell(step, entry, searcher::TrialExited{trial.request, EndOf(step, trial)});
  }
  entry.experiment.progress = std::max(entry.experiment.progress, entry.searcher.Progress());
  step.Touch(entry.experiment);
  EndIfDone(step, entry);
}

void Create(Step& step, Entry& entry, const searcher::CreateTrial& wish,
            std::deque<searcher::Operation>& more) {
  if (entry.trials.contains(wish.request)) return;
  Trial trial;
  trial.id = model::TrialId(++step.s.last_trial);
  trial.experiment = entry.experiment.id;
  trial.request = wish.request;
  trial.task = model::TaskId(absl::StrCat(entry.experiment.id.value(), ".", trial.id.value()));
  trial.seed = wish.seed;
  trial.hparams = wish.hparams;
  trial.created_at = step.now;
  const bool paused = entry.experiment.state == ExperimentState::kPaused;
  trial.state = paused ? TrialState::kPaused : TrialState::kQueued;
  entry.trials.emplace(trial.request, trial.id);
  Trial& stored = step.s.trials.emplace(trial.id, std::move(trial)).first->second;
  step.Touch(stored);
  if (!paused) NewRun(step, stored);
  step.TouchSearcher(entry);
  for (auto& operation : entry.searcher.Handle(searcher::TrialCreated{wish.request})) {
    more.push_back(std::move(operation));
  }
}

void StopTrial(Step& step, Entry& entry, const searcher::StopTrial& wish) {
  const auto it = entry.trials.find(wish.request);
  if (it == entry.trials.end()) return;
  Trial& trial = step.s.trials.at(it->second);
  if (model::IsTerminal(trial.state)) return;
  Do(step, trial, experiment::Finish(trial, TrialState::kCompleted, step.now));
}

void Shutdown(Step& step, Entry& entry, const searcher::Shutdown& said) {
  experiment::Experiment& e = entry.experiment;
  const ExperimentEvent event = said.failed     ? ExperimentEvent::kFail
                                : said.canceled ? ExperimentEvent::kCancel
                                                : ExperimentEvent::kFinish;
  if (!experiment::Move(e, event)) return;
  if (!said.failed && !said.canceled) e.reason.clear();
  step.Touch(e);
}

}  // namespace

void Do(Step& step, Trial& trial, const TrialActions& actions) {
  if (actions.changed) step.Touch(trial);
  // A queued trial that was let go has no run to end it: its allocation only goes.
  if (actions.release != TrialActions::Release::kNone && trial.allocation) {
    const auto it = step.s.allocations.find(*trial.allocation);
    if (it != step.s.allocations.end()) {
      experiment::Allocation& allocation = it->second;
      const auto timeout =
          absl::Seconds(step.EntryOf(trial).experiment.config->preemption_timeout_seconds);
      const std::string why = trial.end_as == TrialState::kCompleted
                                  ? "the search has seen enough of this trial"
                              : trial.end_as == TrialState::kPaused ? "the experiment was paused"
                                                                    : "the experiment was canceled";
      Do(step, allocation,
         actions.release == TrialActions::Release::kPreempt
             ? experiment::Preempt(allocation, why, timeout, step.now)
             : experiment::Stop(allocation, kKillGrace, step.now));
    }
  }
  if (actions.new_run) NewRun(step, trial);
  if (actions.ended) OnEnded(step, trial);
}

void Tell(Step& step, Entry& entry, const searcher::Event& event) {
  step.TouchSearcher(entry);
  Do(step, entry, entry.searcher.Handle(event));
}

void Do(Step& step, Entry& entry, std::vector<searcher::Operation> operations) {
  std::deque<searcher::Operation> queue(std::make_move_iterator(operations.begin()),
                                        std::make_move_iterator(operations.end()));
  while (!queue.empty()) {
    const searcher::Operation operation = std::move(queue.front());
    queue.pop_front();
    if (const auto* create = std::get_if<searcher::CreateTrial>(&operation)) {
      Create(step, entry, *create, queue);
    } else if (const auto* stop = std::get_if<searcher::StopTrial>(&operation)) {
      StopTrial(step, entry, *stop);
    } else if (const auto* shutdown = std::get_if<searcher::Shutdown>(&operation)) {
      Shutdown(step, entry, *shutdown);
    }
  }
}

void EndIfDone(Step& step, Entry& entry) {
  experiment::Experiment& e = entry.experiment;
  for (const auto& [request, id] : entry.trials) {
    if (!model::IsTerminal(step.s.trials.at(id).state)) return;
  }
  if (!experiment::Move(e, ExperimentEvent::kEnd)) return;
  if (e.state == ExperimentState::kCompleted) e.progress = 1;
  e.ended_at = step.now;
  step.Touch(e);
}

}  // namespace det::cluster
