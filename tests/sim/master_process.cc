#include "tests/sim/master_process.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tests/sim/invariants.h"

namespace det::sim {
namespace {

const cluster::Settings kSettings{.cluster_id = "sim"};
constexpr absl::Time kStart = absl::UnixEpoch();
// How long an agent may be disconnected before its tasks are given up.
constexpr absl::Duration kReconnectTimeout = absl::Seconds(20);

}  // namespace

MasterProcess::MasterProcess(Stage& stage, Host& host,
                             std::shared_ptr<store::FakeDatabase> database, absl::Duration ahead)
    : stage_(stage),
      host_(host),
      ahead_(ahead),
      fake_(std::move(database)),
      store_(&fake_),
      main_{.loop = base::FakeEventLoop(kStart), .slowest = absl::Milliseconds(2)},
      commit_{.loop = base::FakeEventLoop(kStart), .slowest = absl::Milliseconds(40)} {
  store_.Decide([this] { return host_.ChooseCommitFault(*this); });
  store_.OnCommitted([this](int64_t sequence, const std::vector<cluster::Change>& changes) {
    if (sequence <= last_made_) return;
    last_made_ = sequence;
    host_.OnCommitted(*this, changes);
  });
  engine_ = std::make_unique<engine::Engine>(
      kSettings, &store_, &main_.loop, engine::Sinks{this, this, this},
      [this](const absl::Status& status) {
        stage_.Log(absl::StrCat("master: ends, ", status.message()));
        RequestKill();
      },
      &commit_.loop);
}

absl::Status MasterProcess::Start() {
  AdvanceClocks();
  DET_RETURN_IF_ERROR(engine_->Start());
  engine_->Query(
      [this](const cluster::Cluster& cluster) {
        cluster_ = &cluster;
        for (const experiment::Allocation* allocation : cluster.live_allocations()) {
          for (const experiment::LocalTask& local_task : allocation->local_tasks) {
            if (!local_task.exited) hub_[local_task.placement.agent];
          }
        }
      },
      [this](const absl::Status&) {
        for (const auto& [id, stream] : hub_) {
          if (stream.id == 0 && !stream.reconnect_timer) StartReconnectTimer(id);
        }
      });
  Wake();
  return absl::OkStatus();
}

void MasterProcess::StopLoops() {
  main_.loop.Kill();
  commit_.loop.Kill();
}

void MasterProcess::Kill() {
  RequestKill();
  StopLoops();
  cluster_ = nullptr;
  for (auto& [agent, stream] : std::exchange(hub_, {})) {
    if (stream.id != 0) stream.down(Closed{});
  }
}

// ---- time ----

void MasterProcess::SetClock(absl::Duration ahead) {
  AdvanceClocks();
  ahead_ = ahead;
  for (Worker* worker : {&main_, &commit_}) worker->loop.SetClock(stage_.now() + ahead_);
  Wake();
}

void MasterProcess::AdvanceClocks() {
  for (Worker* worker : {&main_, &commit_}) {
    worker->loop.AdvanceClock(stage_.now() + ahead_ - worker->loop.Now());
  }
}

void MasterProcess::Wake() {
  Wake(main_);
  Wake(commit_);
}

void MasterProcess::Wake(Worker& worker) {
  if (worker.loop.HasPosted() && !std::exchange(worker.called, true)) {
    CallLater(worker,
              absl::Microseconds(stage_.Pick(0, absl::ToInt64Microseconds(worker.slowest))));
  }
  const absl::Time next = worker.loop.NextTimer();
  if (next == absl::InfiniteFuture() || next == worker.timer) return;
  worker.timer = next;
  CallLater(worker, std::max(next - ahead_ - stage_.now(), absl::ZeroDuration()));
}

void MasterProcess::CallLater(Worker& worker, absl::Duration delay) {
  stage_.After(delay, [weak = weak_from_this(), &worker] {
    if (const auto self = weak.lock(); self != nullptr && !self->killed_) self->Turn(worker);
  });
}

void MasterProcess::Turn(Worker& worker) {
  AdvanceClocks();
  worker.called = false;
  worker.timer = absl::InfiniteFuture();
  if (worker.loop.RunOne()) host_.OnStep(*this);
  if (!killed_) Wake();
}

bool MasterProcess::AtRest() const {
  return cluster_ != nullptr && !killed_ && !main_.loop.HasPosted() && !commit_.loop.HasPosted() &&
         commit_.loop.NextTimer() == absl::InfiniteFuture();
}

// ---- requests ----

void MasterProcess::Submit(const cluster::Event& event, const Reply& reply) {
  AdvanceClocks();
  engine_->Submit(event, [this, reply](const absl::StatusOr<engine::Applied>& applied) {
    if (reply && !killed_) reply(applied);
  });
  Wake();
}

void MasterProcess::Watch(const model::AllocationId& id,
                          const std::function<void(const experiment::Allocation*)>& done) {
  AdvanceClocks();
  auto seen = std::make_shared<std::optional<experiment::Allocation>>();
  engine_->Query(
      [id, seen](const cluster::Cluster& cluster) {
        if (const experiment::Allocation* present = cluster.FindAllocation(id)) *seen = *present;
      },
      [this, seen, done](const absl::Status& durable) {
        if (durable.ok() && !killed_) done(seen->has_value() ? &**seen : nullptr);
      });
  Wake();
}

// ---- streams ----

void MasterProcess::Register(int64_t stream, model::Agent agent,
                             std::vector<model::AllocationId> running,
                             std::function<void(const Down&)> down) {
  AdvanceClocks();
  Stream& present = hub_[agent.id];
  if (present.id != 0) present.down(Closed{});
  if (present.reconnect_timer) main_.loop.Cancel(*present.reconnect_timer);
  present = {stream, std::move(down), std::nullopt};
  const model::AgentId id = agent.id;
  Submit(cluster::AgentRegistered{std::move(agent), std::move(running)},
         [this, id, stream](const auto& applied) {
           if (absl::IsUnavailable(applied.status())) return Refuse(stream, id);
           if (!applied.ok()) return stage_.Fail("a registration was rejected");
           const auto it = hub_.find(id);
           if (it != hub_.end() && it->second.id == stream) it->second.down(Registered{});
         });
}

void MasterProcess::Report(int64_t stream, const model::AgentId& agent,
                           const agent::Report& report) {
  const auto it = hub_.find(agent);
  if (it == hub_.end() || it->second.id != stream) return;
  const model::AllocationId allocation(report.allocation.value());
  cluster::Event event = cluster::LocalTaskStarted{allocation, agent};
  if (const auto* exit = std::get_if<agent::TaskExit>(&report.event)) {
    event = cluster::LocalTaskExited{.allocation = allocation,
                                 .agent = agent,
                                 .exit_code = exit->exit_code,
                                 .signal = exit->signal,
                                 .message = exit->message,
                                 .start_failed = exit->start_failed};
  }
  Submit(event, [this, agent, stream, sequence = report.sequence](const auto& applied) {
    if (absl::IsUnavailable(applied.status())) return Refuse(stream, agent);
    if (!applied.ok()) return stage_.Fail("a report was rejected");
    const auto present = hub_.find(agent);
    if (present == hub_.end() || present->second.id != stream) return;
    present->second.down(agent::Event(agent::AckReports{sequence}));
  });
}

// Later reports on this stream are not acknowledged, so the agent reconnects and sends them again.
void MasterProcess::Refuse(int64_t stream, const model::AgentId& agent) {
  const auto it = hub_.find(agent);
  if (it == hub_.end() || it->second.id != stream) return;
  ++stage_.counts.refused_streams;
  it->second.down(Closed{});
  OnDisconnected(agent);
}

void MasterProcess::NoticeBreak(int64_t stream, const model::AgentId& agent) {
  const auto it = hub_.find(agent);
  if (it != hub_.end() && it->second.id == stream) OnDisconnected(agent);
}

void MasterProcess::OnDisconnected(const model::AgentId& agent) {
  AdvanceClocks();
  hub_[agent].id = 0;
  engine_->Submit(cluster::AgentDisconnected{agent});
  StartReconnectTimer(agent);
  Wake();
}

void MasterProcess::StartReconnectTimer(const model::AgentId& agent) {
  hub_[agent].reconnect_timer = main_.loop.PostAfter(kReconnectTimeout, [this, agent] {
    if (killed_) return;
    stage_.Log(absl::StrCat("master: lost ", agent.value()));
    ++stage_.counts.lost_agents;
    hub_.erase(agent);
    engine_->Submit(cluster::AgentLost{agent});
  });
}

void MasterProcess::Send(const model::AgentId& agent, const Down& message) {
  const auto it = hub_.find(agent);
  if (it != hub_.end() && it->second.id != 0) it->second.down(message);
}

void MasterProcess::DisconnectAgents() {
  for (auto& [agent, stream] : hub_) {
    if (stream.id == 0) continue;
    stream.down(Closed{});
    OnDisconnected(agent);
  }
}

// ---- effects ----

// Returns false if the process was killed before the effect was sent.
bool MasterProcess::Emit(const cluster::Effect& effect) {
  if (!killed_ && stage_.Fault(0.0003)) {
    stage_.Log("master: killed while it sends effects");
    RequestKill();
  }
  if (killed_) return false;
  const model::AllocationId* continued = GetContinuedAllocation(effect);
  if (continued != nullptr && closed_.contains(*continued)) {
    stage_.Fail(absl::StrCat(continued->value(), " is continued after its end"));
  }
  if (const auto* close = std::get_if<cluster::CloseAllocation>(&effect)) {
    closed_.insert(close->allocation);
  }
  host_.OnEffect(*this, effect);
  return true;
}

void MasterProcess::Start(const cluster::StartTask& order) {
  if (!Emit(order)) return;
  agent::StartTask start;
  start.spec.allocation = agent::AllocationId(order.spec.allocation.value());
  start.spec.task_id = order.spec.task.value();
  start.spec.slots = order.spec.slots;
  Send(order.agent, agent::Event(start));
  if (stage_.Fault(0.05)) Send(order.agent, agent::Event(start));
}

void MasterProcess::Stop(const cluster::StopTask& order) {
  if (!Emit(order)) return;
  const agent::StopTask stop{agent::AllocationId(order.allocation.value()), order.grace};
  Send(order.agent, agent::Event(stop));
  if (stage_.Fault(0.05)) Send(order.agent, agent::Event(stop));
}

}  // namespace det::sim
