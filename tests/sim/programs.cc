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
  const Rank rank{&machine, id, machine.GetProcessId(id)};
  const auto row = master_.committed().allocations.find(id);
  if (row == master_.committed().allocations.end() || experiment::IsTrial(row->second)) {
    return Watch(rank);
  }
  BeginTask(rank, master_.committed().tasks.at(row->second.task));
}

void Programs::CheckFirstRun(const experiment::Task& task, const model::AllocationId& id) {
  if (task.definition->preemptible || task.pausable) return;
  for (const auto& [other, a] : master_.committed().allocations) {
    if (a.task != task.id || other == id) continue;
    for (const experiment::LocalTask& local_task : a.local_tasks) {
      if (!local_task.started) continue;
      stage_.Fail(absl::StrCat("task ", task.id.value(), " runs again after ", other.value()));
    }
  }
}

void Programs::BeginTask(const Rank& rank, const experiment::Task& task) {
  CheckFirstRun(task, rank.allocation);
  if (task.kind == model::TaskKind::kNotebook) {
    // Serves until it is killed.
    stage_.After(stage_.Ms(100, 5'000), [this, rank] {
      const int port = static_cast<int>(stage_.Pick(20'000, 30'000));
      Call(rank, cluster::TaskReady{rank.allocation, port}, [] {});
    });
    return;
  }
  const int code = stage_.Chance(0.8) ? 0 : 1;
  stage_.After(stage_.Ms(100, 60'000), [rank, code] {
    if (rank.Lives()) rank.machine->Exit(rank.allocation, code);
  });
}

void Programs::OnTaskPreempted(const Rank& rank) {
  // Some programs ignore it.
  if (!rank.Lives() || stage_.Chance(0.3)) return;
  ++stage_.counts.preemptions;
  Yield(rank);
}

void Programs::HandleEffect(const cluster::Effect& effect) {
  const auto* rendezvous = std::get_if<cluster::AnnounceRendezvous>(&effect);
  const auto* preemption = std::get_if<cluster::AnnouncePreemption>(&effect);
  if (rendezvous == nullptr && preemption == nullptr) return;
  const model::AllocationId& id = rendezvous ? rendezvous->allocation : preemption->allocation;
  for (const auto& machine : machines_) {
    if (!machine->Lives(id)) continue;
    const Rank rank{machine.get(), id, machine->GetProcessId(id)};
    const auto row = master_.committed().allocations.find(id);
    if (row != master_.committed().allocations.end() && !experiment::IsTrial(row->second)) {
      if (preemption == nullptr) continue;
      stage_.After(stage_.Ms(1, 200), [this, rank] { OnTaskPreempted(rank); });
      continue;
    }
    // A broken stream is opened again, and shows the current state.
    if (stage_.Fault(0.1)) {
      stage_.After(stage_.Ms(500, 5'000), [this, rank] { Watch(rank); });
      continue;
    }
    stage_.After(stage_.Ms(1, 200),
                 [this, rank, meet = rendezvous != nullptr] { OnNews(rank, meet, !meet); });
  }
}

// Repeats the request until it gets a response; after that, the master sends updates.
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
    return stage_.Fail(
        absl::StrCat(rank.allocation.value(), " is running but was never committed"));
  }
  const bool chief = row->second.local_tasks.front().placement.agent == rank.machine->id();
  if (preempt && preempted_.insert(rank.life).second) {
    ++stage_.counts.preemptions;
    // Before training there is nothing to save. Some trials ignore preemption.
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
  // The previous attempt saved a checkpoint after the last step but was ended before it exited.
  if (step >= GetSteps(GetTrial(rank.allocation))) return ExitAll(rank.allocation);
  stage_.After(stage_.Ms(200, 6'000), [this, rank, step] {
    if (!rank.Lives() || MayFail(rank)) return;
    const int64_t next = step + 1;
    if (preempted_.contains(rank.life)) {
      if (stage_.Chance(0.1)) return;  // Ignores the preemption until it is killed.
      // Does not skip the step without a validation, which the next attempt must report.
      return Save(rank, step, [this, rank] { Yield(rank); });
    }
    const experiment::Trial& trial = GetTrial(rank.allocation);
    const int64_t steps = GetSteps(trial);
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
  const experiment::Trial& trial = GetTrial(rank.allocation);
  model::MetricReport report;
  report.trial = trial.id;
  report.group = "validation";
  report.steps_completed = step;
  report.run_id = trial.run_id;
  report.metrics = model::Value::Object{{"loss", ComputeLoss(trial, step)}};
  Call(rank, cluster::ValidationsReported{rank.allocation, {std::move(report)}},
       [this, id = trial.id, rank, step, then] {
         stage_.Log(absl::StrCat(rank.allocation.value(), ": validated step ", step));
         if (IsCurrent(rank)) validated_[id].insert(step);
         then();
       });
}

double Programs::ComputeLoss(const experiment::Trial& trial, int64_t step) {
  if (!IsRepeatable(GetExperiment(trial))) return static_cast<double>(stage_.Pick(0, 100));
  return std::abs(trial.hparams.at("lr").AsNumber().value() - 0.3) +
         1.0 / static_cast<double>(step);
}

int64_t Programs::GetSteps(const experiment::Trial& trial) const {
  const int64_t length = model::MaxLength(GetExperiment(trial).config->searcher);
  return length > 0 ? length : kSteps;
}

void Programs::Save(const Rank& rank, int64_t step, const Then& then) {
  cluster::CheckpointReported event;
  event.allocation = rank.allocation;
  event.checkpoint.id = model::CheckpointId(absl::StrCat("checkpoint-", stage_.NextNumber()));
  event.checkpoint.trial = GetTrial(rank.allocation).id;
  event.checkpoint.allocation = rank.allocation;
  event.checkpoint.steps_completed = step;
  Call(rank, event, [this, id = event.checkpoint.id, rank, then] {
    if (IsCurrent(rank)) acknowledged_.insert(id);
    then();
  });
}

void Programs::Yield(const Rank& rank) {
  Call(rank, cluster::PreemptionAcked{rank.allocation}, [this, rank] { ExitAll(rank.allocation); });
}

// The master ignores calls of a task that was given up.
bool Programs::IsCurrent(const Rank& rank) const {
  const auto row = master_.committed().allocations.find(rank.allocation);
  return row->second.state != model::AllocationState::kTerminated;
}

bool Programs::MayFail(const Rank& rank) {
  if (IsRepeatable(GetExperiment(GetTrial(rank.allocation)))) {
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
      // Otherwise no operator would end the quarantine of the slot.
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
      rank.machine->Exit(rank.allocation, 0);  // too early, while the other ranks keep running
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
    const Rank rank{machine.get(), id, machine->GetProcessId(id)};
    stage_.After(stage_.Ms(1, 1'000), [rank] {
      if (rank.Lives()) rank.machine->Exit(rank.allocation, 0);
    });
  }
}

// Calls `then` once, at the first response; the caller may have ended by then.
void Programs::Call(const Rank& rank, const cluster::Event& event, const Then& then) {
  if (!rank.Lives()) return;
  auto answered = std::make_shared<bool>(false);
  const auto reply = [this, rank, answered, then](const absl::StatusOr<engine::Applied>& outcome) {
    if (absl::IsUnavailable(outcome.status())) return;  // The call will be repeated.
    if (!outcome.ok()) return stage_.Fail("a report of a trial was rejected");
    if (stage_.Fault(0.03)) return;  // The response is lost.
    if (std::exchange(*answered, true) || !rank.Lives()) return;
    then();
  };
  const auto send = [this, event, reply] { master_.Submit(event, reply); };
  const bool late = stage_.Fault(0.03);  // The repetition and later calls overtake this call.
  stage_.counts.late_calls += late;
  stage_.After(late ? stage_.Ms(2'000, 20'000) : stage_.Ms(1, 100), send);
  if (stage_.Fault(0.03)) {
    ++stage_.counts.repeated_calls;
    stage_.After(stage_.Ms(1, 10'000), send);
  }
  stage_.After(absl::Seconds(2), [this, rank, event, then, answered] {
    // Only the repetition continues from here.
    if (!std::exchange(*answered, true)) Call(rank, event, then);
  });
}

const experiment::Trial& Programs::GetTrial(const model::AllocationId& id) const {
  const cluster::Rows& rows = master_.committed();
  return rows.trials.at(rows.allocations.at(id).trial);
}

const experiment::Experiment& Programs::GetExperiment(const experiment::Trial& trial) const {
  return master_.committed().experiments.at(trial.experiment);
}

void Programs::CheckAcknowledged() {
  for (const model::CheckpointId& id : acknowledged_) {
    if (master_.committed().checkpoints.contains(id)) continue;
    stage_.Fail(absl::StrCat(id.value(), " was acknowledged but is not in the rows"));
  }
  for (const auto& [id, trial] : master_.committed().trials) CheckMetrics(trial);
}

void Programs::CheckMetrics(const experiment::Trial& trial) {
  const bool repeatable = IsRepeatable(GetExperiment(trial));
  std::set<int64_t> steps;
  for (const model::MetricReport& report : master_.Metrics(trial.id)) {
    const int64_t step = report.steps_completed;
    const auto broken = [&](const char* what) {
      stage_.Fail(absl::StrCat("the validation of trial ", trial.id.value(), " after ", step,
                               " steps ", what));
    };
    if (!steps.insert(step).second) broken("is stored twice");
    if (repeatable && step != static_cast<int64_t>(steps.size())) broken("comes after a gap");
    const std::optional<double> loss = report.metrics.Find("loss")->AsNumber();
    if (repeatable && loss != ComputeLoss(trial, step)) broken("differs from the report");
  }
  for (const int64_t step : validated_[trial.id]) {
    if (steps.contains(step)) continue;
    stage_.Fail(absl::StrCat("the validation of trial ", trial.id.value(), " after ", step,
                             " steps was acknowledged but is not in the rows"));
  }
}

}  // namespace det::sim
