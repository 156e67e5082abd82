#include "tests/sim/programs.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace det::sim {
namespace {

constexpr int64_t kSteps = 5;

}  // namespace

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
      const bool all = std::all_of(seen->shares.begin(), seen->shares.end(),
                                   [](const auto& share) { return share.started; });
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
  if (row == master_.committed().allocations.end() || row->second.shares.empty()) {
    return stage_.Fail(absl::StrCat(rank.allocation.value(), " runs but was never committed"));
  }
  const bool chief = row->second.shares.front().placement.agent == rank.machine->id();
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
  stage_.After(stage_.Ms(200, 6'000), [this, rank, step] {
    if (!rank.Lives() || MayFail(rank)) return;
    const int64_t next = step + 1;
    if (preempted_.contains(rank.life)) {
      if (stage_.Chance(0.1)) return;  // deaf, until it is killed
      return Save(rank, next, [this, rank] { Yield(rank); });
    }
    const Then go_on = [this, rank, next] {
      if (next >= kSteps) return ExitAll(rank.allocation);
      TrainStep(rank, next);
    };
    const Then save = [this, rank, next, go_on] {
      if (next >= kSteps || stage_.Chance(0.4)) return Save(rank, next, go_on);
      go_on();
    };
    Call(rank,
         cluster::ProgressReported{rank.allocation, TrialOf(rank.allocation),
                                   static_cast<double>(next) / kSteps, "training"},
         [this, rank, next, save] { Validate(rank, next, save); });
  });
}

void Programs::Validate(const Rank& rank, int64_t step, const Then& then) {
  model::MetricReport report;
  report.trial = TrialOf(rank.allocation);
  report.group = "validation";
  report.steps_completed = step;
  report.metrics = model::Value::Object{{"loss", static_cast<double>(stage_.Pick(0, 100))}};
  Call(rank, cluster::ValidationReported{rank.allocation, std::move(report)}, then);
}

void Programs::Save(const Rank& rank, int64_t step, const Then& then) {
  cluster::CheckpointReported event;
  event.allocation = rank.allocation;
  event.checkpoint.id = model::CheckpointId(absl::StrCat("checkpoint-", stage_.NextNumber()));
  event.checkpoint.trial = TrialOf(rank.allocation);
  event.checkpoint.allocation = rank.allocation;
  event.checkpoint.steps_completed = step;
  Call(rank, event, [this, id = event.checkpoint.id, rank, then] {
    const auto row = master_.committed().allocations.find(rank.allocation);
    // A task that was given up is heard no more.
    if (row->second.state != model::AllocationState::kTerminated) answered_.insert(id);
    then();
  });
}

void Programs::Yield(const Rank& rank) {
  Call(rank, cluster::PreemptionAcked{rank.allocation}, [this, rank] { ExitAll(rank.allocation); });
}

bool Programs::MayFail(const Rank& rank) {
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
  const auto reply = [this, rank, answered, then](const absl::StatusOr<cluster::Outcome>& outcome) {
    if (!outcome.ok()) return stage_.Fail("a trial's report was refused");
    if (stage_.Fault(0.03)) return;  // the answer is lost
    if (std::exchange(*answered, true) || !rank.Lives()) return;
    then();
  };
  stage_.After(stage_.Ms(1, 100), [this, event, reply] { master_.Submit(event, reply); });
  stage_.After(absl::Seconds(2), [this, rank, event, then, answered] {
    // From here on only the repetition goes on.
    if (!std::exchange(*answered, true)) Call(rank, event, then);
  });
}

model::TrialId Programs::TrialOf(const model::AllocationId& id) const {
  return master_.committed().allocations.at(id).trial;
}

void Programs::CheckAnswered() const {
  for (const model::CheckpointId& id : answered_) {
    if (master_.committed().checkpoints.contains(id)) continue;
    stage_.Fail(absl::StrCat(id.value(), " was answered and is not in the rows"));
  }
}

}  // namespace det::sim
