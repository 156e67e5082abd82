#include "tests/sim/world.h"

#include <iterator>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/sim/configs.h"
#include "tests/sim/invariants.h"

namespace det::sim {
namespace {

// Faults and user actions stop at this time; all work must end by kEnd.
constexpr absl::Duration kTroubled = absl::Minutes(3);
constexpr absl::Duration kEnd = absl::Hours(3);

}  // namespace

World::World(uint64_t seed, Kind kind, bool verbose)
    : seed_(seed),
      kind_(kind),
      stage_(seed, verbose),
      master_(stage_, [this](const cluster::Effect& effect) { programs_.HandleEffect(effect); }),
      programs_(stage_, master_, machines_),
      searches_(stage_, master_, [this](const cluster::Event& request, const Master::Reply& reply) {
        SendRequest(request, reply);
      }) {
  for (const char* name : {"vision", "speech"}) project_refs_[name] = master_.MakeProjectRef(name);
}

absl::Status World::Run() {
  Plan();
  const absl::Time end = stage_.now() + kEnd;
  while (stage_.Step()) {
    if (stage_.calm && AllEnded()) break;
    if (stage_.now() > end) {
      RecordPendingWork();
      stage_.Fail("work has not ended in time");
    }
  }
  CheckEnd();
  return stage_.status();
}

void World::PlanRepeatable() {
  if (seed_ % 3 != 0) return;
  ++requested_experiments_;
  stage_.After(stage_.Ms(0, 30'000),
               [this] { Create(MakeRepeatableConfig(seed_), absl::StrCat(kRepeatable, "-0")); });
}

void World::Plan() {
  stage_.calm = kind_ == Kind::kUndisturbed;
  PlanMachines();
  PlanRepeatable();
  if (kind_ == Kind::kUndisturbed) return;
  const auto others = static_cast<size_t>(stage_.Pick(1, 6));
  requested_experiments_ += others;
  for (size_t i = 0; i < others; ++i) {
    stage_.After(stage_.Ms(0, 60'000),
                 [this, i] { Create(MakeConfig(stage_), absl::StrCat("request-", i)); });
  }
  const auto tasks = static_cast<size_t>(stage_.Pick(0, 4));
  requested_tasks_ += tasks;
  for (size_t i = 0; i < tasks; ++i) {
    stage_.After(stage_.Ms(0, 90'000), [this] { CreateTask(); });
  }
  const int64_t wishes = stage_.Pick(0, 25);
  for (int64_t i = 0; i < wishes; ++i) {
    stage_.After(stage_.Ms(0, 180'000), [this] { ActAsUser(); });
  }
  const int64_t troubles = stage_.Pick(0, 30);
  for (int64_t i = 0; i < troubles; ++i) {
    stage_.After(stage_.Ms(0, 170'000), [this] { InjectFault(); });
  }
  stage_.After(kTroubled, [this] { CalmDown(); });
}

void World::PlanMachines() {
  const int64_t count = stage_.Pick(2, 4);
  size_t slots = 0;
  for (int64_t i = 0; i < count; ++i) {
    int mine = static_cast<int>(stage_.Pick(1, 4));
    // The largest gang must fit into the empty cluster.
    if (i == count - 1 && slots + mine < 4) mine = static_cast<int>(4 - slots);
    slots += mine;
    machines_.push_back(std::make_unique<Machine>(
        stage_, master_, absl::StrCat("agent-", i), mine,
        [this](Machine& machine, const model::AllocationId& id) { programs_.Begin(machine, id); }));
    stage_.After(stage_.Ms(0, 10'000), [machine = machines_.back().get()] { machine->Connect(); });
  }
}

// ---- users ----

// Repeats the request until it gets a response.
void World::SendRequest(const cluster::Event& request, const Master::Reply& reply) {
  auto answered = std::make_shared<bool>(false);
  master_.Submit(request, [this, answered, reply](const absl::StatusOr<engine::Applied>& outcome) {
    // UNAVAILABLE is not a response; the request is repeated.
    if (absl::IsUnavailable(outcome.status())) return;
    if (stage_.Fault(0.05) || std::exchange(*answered, true)) return;
    reply(outcome);
  });
  stage_.After(absl::Seconds(2), [this, answered, request, reply] {
    if (!std::exchange(*answered, true)) SendRequest(request, reply);
  });
}

// A random action of an operator.
cluster::Event World::ActAsOperator() {
  const auto machine = [&] {
    return machines_[stage_.Pick(0, static_cast<int64_t>(machines_.size()) - 1)]->id();
  };
  const auto job = [&] { return model::JobId(absl::StrCat("exp-", stage_.Pick(1, 7))); };
  const int slot = static_cast<int>(stage_.Pick(0, 3));
  switch (stage_.Pick(0, 11)) {
    case 0:
      return cluster::DisableAgent{machine(), stage_.Chance(0.5)};
    case 1:
    case 2:
      return cluster::EnableAgent{machine()};
    case 3:
      return cluster::DisableSlot{machine(), slot, stage_.Chance(0.3)};
    case 4:
      return cluster::EnableSlot{machine(), slot};
    case 5: {
      const absl::Time begin = stage_.now() + stage_.Ms(0, 30'000);
      return cluster::SetMaintenance{machine(), {{begin, begin + stage_.Ms(1, 30'000), "fans"}}};
    }
    case 6: {
      model::Quota quota{.name = stage_.Chance(0.5) ? "vision" : "speech", .max_slots = {}};
      if (stage_.Chance(0.5)) quota.max_slots = stage_.Pick(1, 5);
      if (!quota.max_slots || stage_.Chance(0.5)) quota.slot_hours = stage_.Pick(1, 100) * 0.001;
      return cluster::PutQuota{quota};
    }
    case 7: {
      model::ResourcePool pool{.name = "default", .description = "", .workspaces = {}};
      const model::SchedulingPolicy kPolicies[] = {model::SchedulingPolicy::kPriority,
                                                   model::SchedulingPolicy::kFairShare,
                                                   model::SchedulingPolicy::kFifo};
      pool.policy = kPolicies[stage_.Pick(0, 2)];
      pool.preemption = stage_.Chance(0.7);
      pool.backfill = stage_.Chance(0.7);
      pool.hold_after = stage_.Ms(0, 60'000);
      return cluster::PutResourcePool{pool};
    }
    case 8:
      return cluster::UpdateQueue{
          {{.job = job(), .resource_pool = stage_.Chance(0.4) ? "other" : "default"}}};
    case 9:
      return cluster::UpdateQueue{
          {{.job = job(), .ahead_of = job()}, {.job = job(), .behind_of = job()}}};
    default:
      return cluster::UpdateQueue{
          {{.job = job(), .priority = static_cast<int>(stage_.Pick(1, 99))}}};
  }
}

// Undoes operator actions that prevent work from ending.
void World::UndoOperatorActions() {
  const auto wish = [this](const cluster::Event& event) {
    SendRequest(event, [](const absl::StatusOr<engine::Applied>&) {});
  };
  for (const auto& machine : machines_) {
    wish(cluster::SetMaintenance{machine->id(), {}});
    wish(cluster::EnableAgent{machine->id()});
    for (int slot = 0; slot < static_cast<int>(machine->slots()); ++slot) {
      wish(cluster::EnableSlot{machine->id(), slot});
    }
  }
  for (const char* workspace : {"vision", "speech"}) {
    wish(cluster::DeleteQuota{model::Quota::Scope::kWorkspace, workspace});
  }
  for (size_t i = 1; i <= requested_experiments_ + 1; ++i) {
    wish(cluster::UpdateQueue{
        {{.job = model::JobId(absl::StrCat("exp-", i)), .resource_pool = "default"}}});
  }
}

void World::Create(const std::shared_ptr<const model::ExperimentConfig>& config,
                   const std::string& request) {
  cluster::CreateExperiment event;
  event.config = config;
  if (const auto space = project_refs_.find(config->workspace); space != project_refs_.end()) {
    event.workspace = space->second.workspace;
    event.project = space->second.project;
  }
  event.context_hash = "hash";
  event.request_id = request;
  event.activate = kind_ == Kind::kUndisturbed || stage_.Chance(0.8);
  SendRequest(event, [this, config, request](const absl::StatusOr<engine::Applied>& outcome) {
    // Too large for the machines that have registered so far.
    if (absl::IsInvalidArgument(outcome.status()) && !created_.contains(request)) {
      return stage_.After(absl::Seconds(5), [this, config, request] { Create(config, request); });
    }
    if (!outcome.ok() || !outcome->created) return stage_.Fail("a create request was rejected");
    if (created_.emplace(request, *outcome->created).second) {
      searches_.Begin(*outcome->created);
    }
    stage_.Log(absl::StrCat("user: created experiment ", outcome->created->value()));
  });
}

void World::CreateTask() {
  experiment::Task task = MakeTask(stage_);
  // A new id each time: a client that gets no response cannot know whether the task exists.
  task.id = model::TaskId(absl::StrCat("task-", stage_.NextNumber()));
  auto answered = std::make_shared<bool>(false);
  master_.Submit(cluster::CreateTask{task},
                 [this, id = task.id, answered](const absl::StatusOr<engine::Applied>& outcome) {
                   if (absl::IsUnavailable(outcome.status()) || *answered) return;
                   // Too large for the machines that have registered so far.
                   if (!outcome.ok()) return;
                   *answered = true;
                   created_tasks_.insert(id);
                   stage_.Log(absl::StrCat("user: created ", id.value()));
                 });
  stage_.After(absl::Seconds(5), [this, answered] {
    if (!std::exchange(*answered, true)) CreateTask();
  });
}

bool World::MayEnd(model::ExperimentId id) const {
  const auto row = master_.committed().experiments.find(id);
  return row != master_.committed().experiments.end() && !IsRepeatable(row->second);
}

void World::ActAsUser() {
  const model::ExperimentId id(static_cast<int32_t>(stage_.Pick(1, 7)));
  const model::TrialId trial(static_cast<int32_t>(stage_.Pick(1, 12)));
  const auto row = master_.committed().trials.find(trial);
  const bool ends_trial = row != master_.committed().trials.end() && MayEnd(row->second.experiment);
  const auto wish = [&]() -> cluster::Event {
    if (!created_tasks_.empty() && stage_.Chance(0.2)) {
      const int64_t skipped = stage_.Pick(0, static_cast<int64_t>(created_tasks_.size()) - 1);
      const std::vector<model::TaskId> task = {*std::next(created_tasks_.begin(), skipped)};
      switch (stage_.Pick(0, 4)) {
        case 0:
          return cluster::KillTasks{task, "killed"};
        case 1:
        case 2:
          return cluster::PauseTasks{task};
        case 3:
          return cluster::ActivateTasks{task};
        default:
          return cluster::UpdateQueue{
              {{.job = model::JobId(task[0].value()),
                .priority = static_cast<int>(stage_.Pick(1, 99)),
                .resource_pool = stage_.Chance(0.2) ? "other" : "default"}}};
      }
    }
    switch (stage_.Pick(0, 29)) {
      case 0:
        if (MayEnd(id)) return cluster::CancelExperiment{id};
        return ActAsOperator();
      case 1:
        if (MayEnd(id)) return cluster::KillExperiment{id};
        return ActAsOperator();
      case 2:
        if (ends_trial) return cluster::KillTrial{trial};
        return ActAsOperator();
      case 3:
      case 4:
      case 5:
      case 6:
      case 7:
        return cluster::ActivateExperiment{id};
      case 8:
      case 9:
      case 10:
      case 11:
      case 12:
      case 13:
      case 14:
        return cluster::PauseExperiment{id};
      default:
        return ActAsOperator();
    }
  };
  const cluster::Event event = wish();
  const std::string kind =
      event.Visit<std::string>([](const auto& asked) { return std::string(typeid(asked).name()); });
  stage_.Log(absl::StrCat("user: ", kind, " on experiment ", id.value()));
  // A rejection is a response, too.
  SendRequest(event, [](const absl::StatusOr<engine::Applied>&) {});
}

// ---- faults ----

void World::InjectFault() {
  Machine& machine = *machines_[stage_.Pick(0, static_cast<int64_t>(machines_.size()) - 1)];
  const absl::Duration away =
      stage_.Chance(0.3) ? stage_.Ms(20'000, 60'000) : stage_.Ms(100, 9'000);
  switch (stage_.Pick(0, 9)) {
    case 0:
    case 1:
      return master_.Crash();
    case 2:
      return master_.TakeOver();
    case 3:
      return master_.LoseDatabase(stage_.Chance(0.2) ? stage_.Ms(10'000, 120'000)
                                                     : stage_.Ms(10, 15'000));
    case 4:
      return master_.SetClock(stage_.Chance(0.2) ? stage_.Ms(-60'000, 60'000)
                                                 : stage_.Ms(-5'000, 5'000));
    case 5:
      return machine.Reboot(away);
    case 6:
      return machine.Disconnect(away);
    case 7:
      return machine.CrashAgent(away);
    default:
      return machine.BreakStream();
  }
}

void World::CalmDown() {
  stage_.Log("all faults stop");
  stage_.calm = true;
  // Machines and master return by themselves; users activate what they paused.
  stage_.After(absl::Minutes(2), [this] { UndoOperatorActions(); });
  stage_.After(absl::Minutes(4), [this] { KillTasks(); });
  for (int32_t id = 1; id <= static_cast<int32_t>(requested_experiments_) + 1; ++id) {
    stage_.After(absl::Minutes(2), [this, id] {
      SendRequest(cluster::ActivateExperiment{model::ExperimentId(id)},
                  [](const absl::StatusOr<engine::Applied>&) {});
    });
  }
}

// Notebooks run until they are killed, and what is paused or in a pool without agents waits.
void World::KillTasks() {
  std::vector<model::TaskId> ids;
  for (const auto& [id, task] : master_.committed().tasks) {
    if (!model::IsTerminal(task.state)) ids.push_back(id);
  }
  if (ids.empty() && created_tasks_.size() >= requested_tasks_) return;
  SendRequest(cluster::KillTasks{std::move(ids), "killed"},
              [](const absl::StatusOr<engine::Applied>&) {});
  stage_.After(absl::Minutes(1), [this] { KillTasks(); });
}

// ---- the end ----

bool World::AllEnded() const {
  if (created_.size() < requested_experiments_ || !master_.AtRest()) return false;
  if (created_tasks_.size() < requested_tasks_) return false;
  for (const auto& [id, task] : master_.committed().tasks) {
    if (!model::IsTerminal(task.state)) return false;
  }
  for (const auto& [id, experiment] : master_.committed().experiments) {
    if (!model::IsTerminal(experiment.state)) return false;
  }
  for (const auto& machine : machines_) {
    if (!machine->Idle()) return false;
  }
  return true;
}

void World::CheckEnd() {
  if (!stage_.status().ok()) return;
  if (!AllEnded()) return stage_.Fail("no action is left, but work has not ended");
  master_.CheckAll();
  programs_.CheckAcknowledged();
  const cluster::Rows& rows = master_.committed();
  stage_.Check(sim::CheckEnd(rows));
  for (const auto& [request, id] : created_) {
    const auto row = rows.experiments.find(id);
    if (row == rows.experiments.end() || row->second.request_id != request) {
      stage_.Fail(absl::StrCat("experiment ", id.value(), " was acknowledged but is lost"));
    }
  }
  for (const model::TaskId& id : created_tasks_) {
    if (rows.tasks.contains(id)) continue;
    stage_.Fail(absl::StrCat(id.value(), " was acknowledged but is lost"));
  }
  for (const auto& [id, task] : rows.tasks) {
    stage_.counts.tasks_completed += task.state == model::TaskState::kCompleted;
    stage_.counts.tasks_canceled += task.state == model::TaskState::kCanceled;
    stage_.counts.tasks_failed += task.state == model::TaskState::kError;
  }
  // A repeated request is recognized by its ID as long as its experiment exists.
  stage_.counts.double_creations +=
      static_cast<int>(rows.experiments.size() - requested_experiments_);
  for (const auto& [id, trial] : rows.trials) stage_.counts.restarts += trial.restarts;
  for (const auto& [id, experiment] : rows.experiments) {
    stage_.counts.completed += experiment.state == model::ExperimentState::kCompleted;
    stage_.counts.canceled += experiment.state == model::ExperimentState::kCanceled;
    stage_.counts.failed += experiment.state == model::ExperimentState::kError;
  }
}

void World::RecordPendingWork() const {
  const cluster::Rows& rows = master_.committed();
  stage_.Log(absl::StrCat(created_.size(), " of ", requested_experiments_,
                          " experiments are created; the master ",
                          master_.AtRest() ? "is at rest" : "is not at rest"));
  for (const auto& [id, e] : rows.experiments) {
    stage_.Log(absl::StrCat("experiment ", id.value(), " (", e.config->searcher.name,
                            "): ", std::string(model::ToString(e.state))));
  }
  for (const auto& [id, trial] : rows.trials) {
    if (model::IsTerminal(trial.state)) continue;
    stage_.Log(absl::StrCat("trial ", id.value(), ": ", std::string(model::ToString(trial.state)),
                            trial.held ? ", held" : "", trial.waits_for ? ", waits" : ""));
  }
  for (const auto& [id, task] : rows.tasks) {
    stage_.Log(absl::StrCat(id.value(), ": ", std::string(model::ToString(task.state))));
  }
  for (const auto& [id, a] : rows.allocations) {
    if (a.state == model::AllocationState::kTerminated) continue;
    stage_.Log(absl::StrCat(id.value(), ": ", std::string(model::ToString(a.state)), ", ", a.slots,
                            " slots of ", a.resource_pool));
  }
  for (const auto& machine : machines_) {
    stage_.Log(absl::StrCat(machine->id().value(), " with ", machine->slots(), " slots is ",
                            machine->Idle() ? "idle" : "busy"));
  }
}

std::string World::decisions() const {
  for (const auto& [id, experiment] : master_.committed().experiments) {
    if (IsRepeatable(experiment)) return Decisions(master_.committed(), id);
  }
  return "";
}

}  // namespace det::sim
