#include "tests/sim/programs.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace det::sim {
namespace {

constexpr int64_t kSteps = 5;

}  // namespace

bool IsRepeatable(const experiment::Experiment& experiment) {
  return absl::StartsWith(experiment.request_id, kRepeatable);
}

void Programs::Begin(Machine& machine, const model::AllocationId& id) {
  Watch({&machine, id, machine.LifeOf(id)});
}

void Programs::Hear(const cluster::Effect& effect) {
  const auto* rendezvous = std::get_if<cluster::AnnounceRendezvous>(&effect);
  const auto* preemption = std::get_if<cluster::AnnouncePreemption>(&effect);
  if (rendezvous == nullptr && preemption == nullptr) return;
  const model::AllocationId& id = rendezvous ? rendezvous->allocation : preemption->allocation;
  for (const auto& machine : machines_) {
    if (!machine->Lives(id)) continue;
    const Rank rank{machine.get(), id, machine->LifeOf(id)};
    // A stream that breaks is made again, and shows the state of that moment.
    if (stage_.Fault(0.1)) {
      stage_.After(stage_.Ms(500, 5'000), [this, rank] { Watch(rank); });
      continue;
    }
    stage_.After(stage_.Ms(1, 200),
                 [this, rank, meet = rendezvous != nullptr] { OnNews(rank, meet, !meet); });
  }
}

// Asks until it has been answered; from then on the master tells by itself.
void Programs::Watch(const Rank& rank) {
  if (!rank.Lives()) return;
  auto answered = std::make_shared<bool>(false);
  stage_.After(stage_.Ms(1, 50), [this, rank, answered] {
    master_.Watch(rank.allocation, [this, rank, answered](const experiment::Allocation* seen) {
      *answered = true;
      if (seen == nullptr) return;
      const bool all = std::all_of(seen->local_tasks.begin(), seen->local_tasks.end(),
                                   [](const auto& local_task) { return local_task.started; });
      OnNews(rank, all, seen->state == model::AllocationState::kPreempting);
    });
  });
  stage_.After(absl::Seconds(2), [this, rank, answered] {
    if (!*answered) Watch(rank);
  });
}

void Programs::OnNews(const Rank& rank, bool rendezvous, bool preempt) {
  if (!rank.Lives()) return;
  const auto row = master_.committed().allocations.find(rank.allocation);
  if (row == master_.committed().allocations.end() || row->second.local_tasks.empty()) {
    return stage_.Fail(absl::StrCat(rank.allocation.value(), " runs but was never committed"));
  }
  const bool chief = row->second.local_tasks.front().placement.agent == rank.machine->id();
  if (preempt && preempted_.insert(rank.life).second) {
    ++stage_.counts.preemptions;
    // Before it trains there is nothing to save; some never listen.
    if (chief && !training_.contains(rank.life) && stage_.Chance(0.5)) Yield(rank);
  }
  if (rendezvous && training_.insert(rank.life).second) {
    if (chief) {
      Train(rank, row->second);
    } else if (stage_.Fault(0.03)) {
      stage_.After(stage_.Ms(100, 8'000), [rank] {
        if (rank.Lives()) rank.machine->Exit(rank.allocation, 134, 6);
      });
    }
  }
}

void Programs::Train(const Rank& rank, const experiment::Allocation& seen) {
  const experiment::Trial& trial = master_.committed().trials.at(seen.trial);
  TrainStep(rank, trial.steps_completed);
}

void Programs::TrainStep(const Rank& rank, int64_t step) {
  // Its last run saved all of it, and did not come to its end.
  if (step >= StepsOf(TrialOf(rank.allocation))) return ExitAll(rank.allocation);
  stage_.After(stage_.Ms(200, 6'000), [this, rank, step] {
    if (!rank.Lives() || MayFail(rank)) return;
    const int64_t next = step + 1;
    if (preempted_.contains(rank.life)) {
      if (stage_.Chance(0.1)) return;  // deaf, until it is killed
      // Not the step that was not validated: the next run has to do that.
      return Save(rank, step, [this, rank] { Yield(rank); });
    }
    const experiment::Trial& trial = TrialOf(rank.allocation);
    const int64_t steps = StepsOf(trial);
    const Then go_on = [this, rank, next, steps] {
      if (next >= steps) return ExitAll(rank.allocation);
      TrainStep(rank, next);
    };
    const Then save = [this, rank, next, steps, go_on] {
      if (next >= steps || stage_.Chance(0.4)) return Save(rank, next, go_on);
      go_on();
    };
    Call(rank,
         cluster::ProgressReported{rank.allocation, trial.id,
                                   static_cast<double>(next) / static_cast<double>(steps),
                                   "training"},
         [this, rank, next, save] { Validate(rank, next, save); });
  });
}

void Programs::Validate(const Rank& rank, int64_t step, const Then& then) {
  const experiment::Trial& trial = TrialOf(rank.allocation);
  model::MetricReport report;
  report.trial = trial.id;
  report.group = "validation";
  report.steps_completed = step;
  report.run_id = trial.run_id;
  report.metrics = model::Value::Object{{"loss", Loss(trial, step)}};
  Call(rank, cluster::ValidationReported{rank.allocation, std::move(report)},
       [this, id = trial.id, rank, step, then] {
         stage_.Note(absl::StrCat(rank.allocation.value(), ": validated step ", step));
         if (IsHeard(rank)) validated_[id].insert(step);
         then();
       });
}

double Programs::Loss(const experiment::Trial& trial, int64_t step) {
  if (!IsRepeatable(ExperimentOf(trial))) return static_cast<double>(stage_.Pick(0, 100));
  return std::abs(trial.hparams.at("lr").AsNumber().value() - 0.3) +
         1.0 / static_cast<double>(step);
}

int64_t Programs::StepsOf(const experiment::Trial& trial) const {
  const int64_t length = model::MaxLength(ExperimentOf(trial).config->searcher);
  return length > 0 ? length : kSteps;
}

void Programs::Save(const Rank& rank, int64_t step, const Then& then) {
  cluster::CheckpointReported event;
  event.allocation = rank.allocation;
  event.checkpoint.id = model::CheckpointId(absl::StrCat("checkpoint-", stage_.NextNumber()));
  event.checkpoint.trial = TrialOf(rank.allocation).id;
  event.checkpoint.allocation = rank.allocation;
  event.checkpoint.steps_completed = step;
  Call(rank, event, [this, id = event.checkpoint.id, rank, then] {
    if (IsHeard(rank)) answered_.insert(id);
    then();
  });
}

void Programs::Yield(const Rank& rank) {
  Call(rank, cluster::PreemptionAcked{rank.allocation}, [this, rank] { ExitAll(rank.allocation); });
}

// A task that was given up is heard no more.
bool Programs::IsHeard(const Rank& rank) const {
  const auto row = master_.committed().allocations.find(rank.allocation);
  return row->second.state != model::AllocationState::kTerminated;
}

bool Programs::MayFail(const Rank& rank) {
  if (IsRepeatable(ExperimentOf(TrialOf(rank.allocation)))) {
    if (!stage_.Fault(0.05)) return false;
    rank.machine->Exit(rank.allocation, 139, 11);
    return true;
  }
  if (!stage_.Chance(0.08)) return false;
  switch (stage_.Pick(0, 6)) {
    case 0:
      rank.machine->Exit(rank.allocation, 1);
      break;
    case 3:
      // Nobody would take the slot out of its quarantine any more.
      if (stage_.calm) return false;
      Call(rank, cluster::HardwareSuspected{rank.allocation, rank.machine->id(), "Xid 79"},
           [rank] { rank.machine->Exit(rank.allocation, 1); });
      break;
    case 4:
      Call(rank,
           cluster::LogPolicyMatched{rank.allocation, rank.machine->id(), "policy",
                                     stage_.Chance(0.5), false},
           [rank] { rank.machine->Exit(rank.allocation, 1); });
      break;
    case 1:
      rank.machine->Exit(rank.allocation, 139, 11);
      break;
    case 2:
      rank.machine->Exit(rank.allocation, 0);  // too early, and the others do not follow
      stage_.After(stage_.Ms(10, 20'000), [this, id = rank.allocation] { ExitAll(id); });
      break;
    default: {
      const bool hp = stage_.Chance(0.6);
      Call(rank,
           cluster::EarlyExitReported{
               rank.allocation,
               hp ? model::ExitReason::kInvalidHp : model::ExitReason::kInvalidCode, "invalid"},
           [this, rank] { rank.machine->Exit(rank.allocation, 1); });
    }
  }
  return true;
}

void Programs::ExitAll(const model::AllocationId& id) {
  for (const auto& machine : machines_) {
    if (!machine->Lives(id)) continue;
    const Rank rank{machine.get(), id, machine->LifeOf(id)};
    stage_.After(stage_.Ms(1, 1'000), [rank] {
      if (rank.Lives()) rank.machine->Exit(rank.allocation, 0);
    });
  }
}

// Goes on once, at the first answer; the caller may be dead by then.
void Programs::Call(const Rank& rank, const cluster::Event& event, const Then& then) {
  if (!rank.Lives()) return;
  auto answered = std::make_shared<bool>(false);
  const auto reply = [this, rank, answered, then](const absl::StatusOr<engine::Applied>& outcome) {
    if (absl::IsUnavailable(outcome.status())) return;  // it asks again
    if (!outcome.ok()) return stage_.Fail("a trial's report was refused");
    if (stage_.Fault(0.03)) return;  // the answer is lost
    if (std::exchange(*answered, true) || !rank.Lives()) return;
    then();
  };
  const auto send = [this, event, reply] { master_.Submit(event, reply); };
  const bool late = stage_.Fault(0.03);  // its repetition overtakes it, and what comes then
  stage_.counts.late_calls += late;
  stage_.After(late ? stage_.Ms(2'000, 20'000) : stage_.Ms(1, 100), send);
  if (stage_.Fault(0.03)) {
    ++stage_.counts.repeated_calls;
    stage_.After(stage_.Ms(1, 10'000), send);
  }
  stage_.After(absl::Seconds(2), [this, rank, event, then, answered] {
    // From here on only the repetition goes on.
    if (!std::exchange(*answered, true)) Call(rank, event, then);
  });
}

const experiment::Trial& Programs::TrialOf(const model::AllocationId& id) const {
  const cluster::Rows& rows = master_.committed();
  return rows.trials.at(rows.allocations.at(id).trial);
}

const experiment::Experiment& Programs::ExperimentOf(const experiment::Trial& trial) const {
  return master_.committed().experiments.at(trial.experiment);
}

void Programs::CheckAnswered() {
  for (const model::CheckpointId& id : answered_) {
    if (master_.committed().checkpoints.contains(id)) continue;
    stage_.Fail(absl::StrCat(id.value(), " was answered and is not in the rows"));
  }
  for (const auto& [id, trial] : master_.committed().trials) CheckMetrics(trial);
}

void Programs::CheckMetrics(const experiment::Trial& trial) {
  const bool repeatable = IsRepeatable(ExperimentOf(trial));
  std::set<int64_t> steps;
  for (const model::MetricReport& report : master_.Metrics(trial.id)) {
    const int64_t step = report.steps_completed;
    const auto broken = [&](const char* what) {
      stage_.Fail(absl::StrCat("the validation of trial ", trial.id.value(), " after ", step,
                               " steps ", what));
    };
    if (!steps.insert(step).second) broken("is there twice");
    if (repeatable && step != static_cast<int64_t>(steps.size())) broken("comes after a gap");
    const std::optional<double> loss = report.metrics.Find("loss")->AsNumber();
    if (repeatable && loss != Loss(trial, step)) broken("is not what was reported");
  }
  for (const int64_t step : validated_[trial.id]) {
    if (steps.contains(step)) continue;
    stage_.Fail(absl::StrCat("the validation of trial ", trial.id.value(), " after ", step,
                             " steps was answered and is not in the rows"));
  }
}

}  // namespace det::sim
