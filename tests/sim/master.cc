#include "tests/sim/master.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/sim/invariants.h"

namespace det::sim {
namespace {

const cluster::Settings kSettings{.cluster_id = "sim"};
// How long an agent may be away before its work counts as lost.
constexpr absl::Duration kPatience = absl::Seconds(20);

}  // namespace

Master::Master(Stage& stage, News news) : stage_(stage), news_(std::move(news)) {
  cluster_ = std::make_unique<cluster::Cluster>(kSettings);
}

void Master::Submit(const cluster::Event& event, const Reply& reply) {
  if (!up()) return;
  ++stage_.counts.events;
  absl::StatusOr<cluster::Outcome> outcome = cluster_->Apply(event, stage_.now());
  Entry entry;
  if (outcome.ok()) {
    applied_.Apply(outcome->changes);
    stage_.Check(CheckEffects(*cluster_, outcome->effects));
    entry.changes = outcome->changes;
    entry.effects = outcome->effects;
  }
  CheckMemory();
  stage_.Check(cluster_->CheckScheduler());
  if (reply) entry.reply = [reply, outcome = std::move(outcome)] { reply(outcome); };
  Enqueue(std::move(entry));
  if (stage_.Fault(0.002)) Crash();
}

void Master::Watch(const model::AllocationId& id,
                   const std::function<void(const experiment::Allocation*)>& done) {
  if (!up()) return;
  const experiment::Allocation* present = cluster_->FindAllocation(id);
  Entry entry;
  if (present == nullptr) {
    entry.reply = [done] { done(nullptr); };
  } else {
    entry.reply = [done, seen = *present] { done(&seen); };
  }
  Enqueue(std::move(entry));
}

void Master::Enqueue(Entry entry) {
  open_.push_back(std::move(entry));
  if (!committing_) CommitNext();
}

void Master::CommitNext() {
  if (open_.empty()) return;
  committing_ = true;
  in_flight_ = std::exchange(open_, {});
  stage_.After(stage_.Ms(1, 40), [this, life = life_] {
    if (life == life_) Committed();
  });
}

void Master::Committed() {
  ++stage_.counts.commits;
  std::vector<Entry> group = std::exchange(in_flight_, {});
  for (const Entry& entry : group) committed_.Apply(entry.changes);
  committing_ = false;
  if (AtRest()) stage_.Check(CheckDurable(*cluster_, committed_.Load()));
  stage_.Check(CheckImage(committed_.Load()));
  const int64_t life = life_;
  // What leaves may find the master gone before all has left.
  for (const Entry& entry : group) {
    for (const cluster::Effect& effect : entry.effects) {
      if (life == life_ && stage_.Fault(0.0005)) Crash();
      if (life == life_) Release(effect);
    }
    if (entry.reply && life == life_) entry.reply();
  }
  if (life == life_ && !committing_) CommitNext();
}

void Master::Crash() {
  if (!up()) return;
  ++stage_.counts.crashes;
  // The commit in flight went through or it did not; nobody heard either way.
  const bool durable = committing_ && stage_.Chance(0.5);
  stage_.Note(absl::StrCat("master: crash, ", in_flight_.size(), " in flight ",
                           durable ? "durable" : "lost", ", ", open_.size(), " lost"));
  if (durable) {
    for (const Entry& entry : in_flight_) committed_.Apply(entry.changes);
  }
  ++life_;
  cluster_.reset();
  open_.clear();
  in_flight_.clear();
  committing_ = tick_due_ = false;
  deadlines_.clear();
  for (auto& [agent, stream] : std::exchange(hub_, {})) stream.down(Closed{});
  stage_.After(stage_.Chance(0.1) ? stage_.Ms(20'000, 60'000) : stage_.Ms(50, 5'000),
               [this] { Restart(); });
}

void Master::Restart() {
  stage_.Note("master: restart");
  applied_ = committed_;
  cluster_ = std::make_unique<cluster::Cluster>(kSettings);
  const absl::Status restored = cluster_->Restore(committed_.Load());
  stage_.Check(restored);
  if (!restored.ok()) return;
  CheckMemory();
  for (const auto& [id, agent] : cluster_->agents()) AwaitReturn(id);
  for (const cluster::Effect& effect : cluster_->Regenerate()) Release(effect);
}

void Master::AwaitReturn(const model::AgentId& id) {
  const absl::Time since = stage_.now();
  away_since_[id] = since;
  stage_.After(kPatience, [this, id, life = life_, since] {
    if (life != life_ || hub_.contains(id) || away_since_[id] != since) return;
    stage_.Note(absl::StrCat("master: lost ", id.value()));
    ++stage_.counts.lost_agents;
    Submit(cluster::AgentLost{id});
  });
}

void Master::CheckMemory() {
  cluster::Image memory = cluster_->Dump();
  cluster::Image rows = applied_.Load();
  // A searcher's rows are a snapshot and a journal; they are compared by a restore, at each rest.
  memory.searchers.clear();
  rows.searchers.clear();
  rows.searcher_events.clear();
  const std::string difference = Difference(memory, rows);
  if (!difference.empty()) stage_.Fail(absl::StrCat("memory differs from its rows: ", difference));
  stage_.Check(CheckImage(memory));
}

// ---- streams ----

void Master::Register(int64_t stream, model::Agent agent, std::vector<model::AllocationId> running,
                      std::function<void(const Down&)> down) {
  if (!up() || broken_.contains(stream)) return down(Closed{});
  Stream& present = hub_[agent.id];
  if (present.id != 0) {
    broken_.insert(present.id);
    present.down(Closed{});
  }
  present = {stream, std::move(down)};
  const model::AgentId id = agent.id;
  Submit(cluster::AgentRegistered{std::move(agent), std::move(running)},
         [this, id, stream](const auto& outcome) {
           if (!outcome.ok()) return stage_.Fail("a registration was refused");
           const auto it = hub_.find(id);
           if (it != hub_.end() && it->second.id == stream) it->second.down(Registered{});
         });
}

void Master::Report(int64_t stream, const model::AgentId& agent, const agent::Report& report) {
  const auto it = hub_.find(agent);
  if (!up() || it == hub_.end() || it->second.id != stream) return;
  const model::AllocationId allocation(report.allocation.value());
  cluster::Event event = cluster::ShareStarted{allocation, agent};
  if (const auto* exit = std::get_if<agent::TaskExit>(&report.event)) {
    event = cluster::ShareExited{.allocation = allocation,
                                 .agent = agent,
                                 .exit_code = exit->exit_code,
                                 .signal = exit->signal,
                                 .message = exit->message,
                                 .start_failed = exit->start_failed};
  }
  Submit(event, [this, agent, stream, sequence = report.sequence](const auto& outcome) {
    if (!outcome.ok()) return stage_.Fail("a report was refused");
    const auto present = hub_.find(agent);
    if (present == hub_.end() || present->second.id != stream) return;
    present->second.down(agent::Event(agent::AckReports{sequence}));
  });
}

void Master::NoticeBreak(int64_t stream, const model::AgentId& agent) {
  broken_.insert(stream);
  const auto it = hub_.find(agent);
  if (!up() || it == hub_.end() || it->second.id != stream) return;
  hub_.erase(it);
  Submit(cluster::AgentDisconnected{agent});
  if (up()) AwaitReturn(agent);
}

void Master::Send(const model::AgentId& agent, const Down& message) {
  const auto it = hub_.find(agent);
  if (it != hub_.end()) it->second.down(message);
}

// ---- effects ----

void Master::Release(const cluster::Effect& effect) {
  stage_.Check(CheckCommitted(committed_, effect));
  std::visit([this](const auto& kind) { Do(kind); }, effect);
}

void Master::Do(const cluster::StartTask& order) {
  agent::StartTask start;
  start.spec.allocation = agent::AllocationId(order.spec.allocation.value());
  start.spec.task_id = order.spec.task.value();
  start.spec.slots = order.spec.slots;
  stage_.Note(
      absl::StrCat("master: start ", order.spec.allocation.value(), " on ", order.agent.value()));
  Send(order.agent, agent::Event(start));
  if (stage_.Fault(0.05)) Send(order.agent, agent::Event(start));
}

void Master::Do(const cluster::StopTask& order) {
  stage_.Note(absl::StrCat("master: stop ", order.allocation.value(), " on ", order.agent.value()));
  const agent::StopTask stop{agent::AllocationId(order.allocation.value()), order.grace};
  Send(order.agent, agent::Event(stop));
  if (stage_.Fault(0.05)) Send(order.agent, agent::Event(stop));
}

void Master::Do(const cluster::SetDeadline& order) {
  deadlines_[order.allocation] = order.at;
  const absl::Duration wait = std::max(order.at - stage_.now(), absl::ZeroDuration());
  stage_.After(wait, [this, order, life = life_] {
    const auto it = deadlines_.find(order.allocation);
    if (life != life_ || it == deadlines_.end() || it->second != order.at) return;
    deadlines_.erase(it);
    Submit(cluster::AllocationDeadline{order.allocation});
  });
}

void Master::Do(const cluster::ScheduleSoon&) {
  if (std::exchange(tick_due_, true)) return;
  stage_.After(stage_.Ms(0, 20), [this, life = life_] {
    if (life != life_) return;
    tick_due_ = false;
    Submit(cluster::ScheduleTick{});
  });
}

void Master::Do(const cluster::SetScheduleTimer& order) {
  look_again_ = order.at;
  stage_.After(std::max(order.at - stage_.now(), absl::ZeroDuration()), [this, order, life = life_] {
    if (life == life_ && look_again_ == order.at) Do(cluster::ScheduleSoon{});
  });
}

void Master::Do(const cluster::SetCalendarTimer& order) {
  calendar_ = order.at;
  stage_.After(std::max(order.at - stage_.now(), absl::ZeroDuration()), [this, order, life = life_] {
    if (life == life_ && calendar_ == order.at) Submit(cluster::CalendarTick{});
  });
}

}  // namespace det::sim
