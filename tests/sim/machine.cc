#include "tests/sim/machine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace det::sim {
namespace {

model::AllocationId Mine(const agent::AllocationId& id) { return model::AllocationId(id.value()); }
agent::AllocationId ToAgentId(const model::AllocationId& id) {
  return agent::AllocationId(id.value());
}

}  // namespace

Machine::Machine(Stage& stage, Master& master, std::string id, int slots,
                 StartedCallback on_started)
    : stage_(stage), master_(master), on_started_(std::move(on_started)) {
  self_.id = model::AgentId(std::move(id));
  self_.address = absl::StrCat("10.0.0.", self_.id.value());
  self_.resource_pool = "default";
  for (int i = 0; i < slots; ++i) self_.slots.push_back({.id = i, .brand = "", .uuid = ""});
}

int64_t Machine::GetProcessId(const model::AllocationId& id) const {
  const auto it = processes_.find(id);
  return it == processes_.end() ? 0 : it->second.life;
}

void Machine::After(absl::Duration delay, std::function<void()> act) {
  stage_.After(delay, [this, agent = agent_, act = std::move(act)] {
    if (agent == agent_) act();
  });
}

void Machine::AfterOnMachine(absl::Duration delay, std::function<void()> act) {
  stage_.After(delay, [this, boot = boot_, act = std::move(act)] {
    if (boot == boot_) act();
  });
}

// ---- the stream ----

void Machine::SendUp(std::function<void()> arrive) {
  const absl::Duration delay = stage_.Fault(0.05) ? stage_.Ms(100, 3'000) : stage_.Ms(1, 30);
  last_up_ = std::max(last_up_, stage_.now() + delay);
  // Not cancelled by a crash: a message can arrive after its sender has crashed.
  stage_.After(last_up_ - stage_.now(), std::move(arrive));
}

void Machine::Connect() {
  // A crashed agent connects after its restart, with a new supervisor.
  if (stream_ != 0 || !agent_lives_) return;
  if (stage_.now() < away_until_) {
    return After(away_until_ - stage_.now(), [this] { Connect(); });
  }
  stream_ = stage_.NextNumber();
  last_up_ = last_down_ = stage_.now();
  std::vector<model::AllocationId> running;
  for (const agent::RunningTask& task : supervisor_.GetRunningTasks()) {
    running.push_back(Mine(task.allocation));
  }
  SendUp([this, stream = stream_, running = std::move(running)] {
    master_.Register(stream, self_, running,
                     [this, stream](const Down& message) { OnDown(stream, message); });
  });
}

void Machine::OnDown(int64_t stream, const Down& message) {
  if (stream != stream_) return;
  const absl::Duration delay = stage_.Fault(0.05) ? stage_.Ms(100, 3'000) : stage_.Ms(1, 30);
  last_down_ = std::max(last_down_, stage_.now() + delay);
  stage_.After(last_down_ - stage_.now(), [this, stream, message] { Take(stream, message); });
}

void Machine::Take(int64_t stream, const Down& message) {
  if (stream != stream_) return;
  if (std::holds_alternative<Closed>(message)) return BreakStream();
  if (const auto* order = std::get_if<agent::Event>(&message)) return Handle(*order);
  registered_ = true;
  for (const agent::Report& report : supervisor_.unacknowledged()) Send(report);
}

void Machine::LoseStream() {
  ++stage_.counts.broken_streams;
  const int64_t broken = std::exchange(stream_, 0);
  registered_ = false;
  stage_.After(stage_.Ms(0, 5'000), [this, broken] { master_.NoticeBreak(broken, id()); });
}

void Machine::BreakStream() {
  if (stream_ == 0) return;
  LoseStream();
  After(std::max(stage_.Ms(50, 3'000), away_until_ - stage_.now()), [this] { Connect(); });
}

void Machine::Disconnect(absl::Duration away) {
  stage_.Log(absl::StrCat(id().value(), ": disconnected for ", absl::FormatDuration(away)));
  away_until_ = stage_.now() + away;
  BreakStream();
}

void Machine::Reboot(absl::Duration away) {
  stage_.Log(absl::StrCat(id().value(), ": reboots, back after ", absl::FormatDuration(away)));
  ++stage_.counts.reboots;
  ++boot_;
  ++agent_;
  away_until_ = stage_.now() + away;
  processes_.clear();
  kept_.clear();
  supervisor_ = agent::Supervisor();
  agent_lives_ = true;
  tick_ = absl::InfiniteFuture();
  if (stream_ != 0) return BreakStream();
  After(away, [this] { Connect(); });
}

void Machine::CrashAgent(absl::Duration away) {
  if (!agent_lives_) return;
  stage_.Log(
      absl::StrCat(id().value(), ": agent crashes, restarts after ", absl::FormatDuration(away)));
  ++stage_.counts.agent_crashes;
  ++agent_;
  agent_lives_ = false;
  if (stream_ != 0) LoseStream();
  After(away, [this] { StartAgent(); });
}

void Machine::StartAgent() {
  supervisor_ = agent::Supervisor();
  agent_lives_ = true;
  tick_ = absl::InfiniteFuture();
  // A copy, because Handle() may forget tasks that have ended and have no lines to send.
  for (const auto& [id, kept] : std::map(kept_)) {
    stage_.Log(absl::StrCat(self_.id.value(), ": reattaches to ", id.value()));
    ++stage_.counts.adoptions;
    stage_.counts.adopted_ends += kept.exit.has_value();
    Handle(agent::TaskAdopted{id, kept.slots});
  }
  Connect();
  // The keepers are read one after the other.
  for (const auto& [id, kept] : kept_) {
    After(stage_.Ms(0, 300), [this, id = id] {
      const auto it = kept_.find(id);
      if (it == kept_.end()) return;
      const std::optional<agent::TaskExit> exit = it->second.exit;
      if (it->second.started) Handle(agent::TaskStarted{id, 1});
      if (exit) Handle(agent::TaskExited{id, *exit});
    });
  }
}

// ---- the agent ----

void Machine::Handle(const agent::Event& event) {
  if (!agent_lives_) return;
  for (const agent::Action& action : supervisor_.Apply(event, stage_.now())) {
    std::visit([this](const auto& kind) { Execute(kind); }, action);
  }
  const absl::Time next = supervisor_.NextDeadline();
  if (next == tick_ || next == absl::InfiniteFuture()) return;
  tick_ = next;
  After(std::max(next - stage_.now(), absl::ZeroDuration()), [this, next] {
    if (tick_ == next) tick_ = absl::InfiniteFuture();
    Handle(agent::Tick{});
  });
}

void Machine::Execute(const agent::StartProcess& action) {
  kept_[action.spec.allocation] = {.slots = action.spec.slots};
  AfterOnMachine(stage_.Ms(5, 800),
                 [this, allocation = action.spec.allocation] { Begin(allocation); });
}

void Machine::Begin(const agent::AllocationId& allocation) {
  if (stage_.Fault(0.03)) {
    return End(allocation, {.exit_code = 1, .message = "no such program", .start_failed = true});
  }
  const model::AllocationId id = Mine(allocation);
  Kept& kept = kept_.at(allocation);
  CheckSlots(id, kept.slots);
  kept.started = true;
  processes_[id] = {kept.slots, stage_.NextNumber()};
  stage_.Log(absl::StrCat(self_.id.value(), ": runs ", id.value()));
  on_started_(*this, id);
  Handle(agent::TaskStarted{allocation, 1});
}

void Machine::End(const agent::AllocationId& allocation, const agent::TaskExit& exit) {
  kept_.at(allocation).exit = exit;
  Handle(agent::TaskExited{allocation, exit});
}

void Machine::Execute(const agent::SignalProcess& action) {
  const model::AllocationId id = Mine(action.allocation);
  const bool kill = action.signal == agent::StopSignal::kKill;
  // A signal to a process that is still starting arrives after the start.
  const absl::Duration delay = kill ? stage_.Ms(1'000, 1'200) : stage_.Ms(10, 4'000);
  if (!kill && stage_.Chance(0.2)) return;  // The process ignores the signal.
  AfterOnMachine(delay, [this, id, kill] { Exit(id, kill ? 137 : 143, kill ? 9 : 15); });
}

void Machine::Execute(const agent::FlushLogs& action) {
  if (stage_.Fault(0.03)) return;
  After(stage_.Ms(1, 200), [this, id = action.allocation] { Handle(agent::LogsPosted{id}); });
}

void Machine::Execute(const agent::SendReport& action) {
  Send(action.report);
  if (stage_.Fault(0.05)) Send(action.report);
}

void Machine::Send(const agent::Report& report) {
  if (stream_ == 0 || !registered_) return;
  SendUp([this, stream = stream_, report] { master_.Report(stream, id(), report); });
}

void Machine::Exit(const model::AllocationId& id, int code, int signal) {
  if (processes_.erase(id) == 0) return;
  stage_.Log(absl::StrCat(self_.id.value(), ": ", id.value(), " ended with ", code));
  End(ToAgentId(id), {.exit_code = code, .signal = signal, .message = ""});
}

// Includes tasks that the master gave up while this machine was disconnected.
void Machine::CheckSlots(const model::AllocationId& id, const std::vector<int>& slots) {
  for (const auto& [other, process] : processes_) {
    const bool clash = std::any_of(slots.begin(), slots.end(), [&](int slot) {
      return std::count(process.slots.begin(), process.slots.end(), slot) > 0;
    });
    if (!clash) continue;
    stage_.Fail(absl::StrCat(id.value(), " and ", other.value(), " run on the same slots of ",
                             self_.id.value()));
  }
}

}  // namespace det::sim
