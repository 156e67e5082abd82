#include "agent/core/supervisor.h"

#include <algorithm>
#include <map>
#include <utility>

namespace det::agent {
namespace {

// The fractions of each slot that tasks use.
class SlotUsage {
 public:
  void Add(const std::vector<int>& slots, double fraction) {
    for (const int slot : slots) parts_[slot] += fraction;
  }
  bool HasRoom(const std::vector<int>& slots, double fraction) const {
    return std::all_of(slots.begin(), slots.end(), [&](int slot) {
      const auto part = parts_.find(slot);
      return part == parts_.end() || part->second + fraction <= 1 + kRounding;
    });
  }

 private:
  // The master rounds fractions to millionths.
  static constexpr double kRounding = 1e-4;
  std::map<int, double> parts_;
};

}  // namespace

std::vector<Action> Supervisor::Apply(const Event& event, absl::Time now) {
  Actions actions;
  std::visit([&](const auto& alternative) { On(alternative, now, actions); }, event);
  return actions;
}

std::vector<RunningTask> Supervisor::GetRunningTasks() const {
  std::map<AllocationId, std::vector<int>> running;
  for (const auto& [id, task] : tasks_) running.emplace(id, task.slots);
  // Without these, the master would take an exit that it has not received for a lost task.
  for (const Report& report : unacked_) {
    if (!std::holds_alternative<TaskExit>(report.event)) continue;
    const auto past = past_.find(report.allocation);
    if (past != past_.end()) running.emplace(report.allocation, past->second.slots);
  }
  std::vector<RunningTask> list;
  for (auto& [id, slots] : running) list.push_back({id, std::move(slots)});
  return list;
}

absl::Time Supervisor::NextDeadline() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [id, task] : tasks_) next = std::min({next, task.kill_at, task.report_at});
  return next;
}

bool Supervisor::HasProcesses() const {
  return std::any_of(tasks_.begin(), tasks_.end(),
                     [](const auto& entry) { return HasProcess(entry.second); });
}

void Supervisor::On(const StartTask& order, absl::Time now, Actions& actions) {
  const AllocationId& id = order.spec.allocation;
  if (const auto known = tasks_.find(id); known != tasks_.end()) {
    // A task that is starting or ending will be reported anyway.
    if (known->second.state == State::kRunning) {
      QueueReport(id, now, TaskStart{known->second.pid}, actions);
    }
    return;
  }
  if (const auto past = past_.find(id); past != past_.end()) {
    QueueReport(id, past->second.time, past->second.exit, actions);
    return;
  }
  if (stopping_) {
    const TaskExit exit{.exit_code = 1,
                        .message = "the agent is stopping",
                        .start_failed = true,
                        .system_failure = true};
    QueueReport(id, now, exit, actions);
    return;
  }
  tasks_[id].slots = order.spec.slots;
  tasks_[id].fraction = order.spec.fraction;
  waiting_.push_back(order.spec);
  StartWaiting(actions);
}

void Supervisor::On(const StopTask& order, absl::Time now, Actions& actions) {
  if (const auto known = tasks_.find(order.allocation); known != tasks_.end()) {
    Stop(order.allocation, known->second, order.grace, now, actions);
    return;
  }
  if (const auto past = past_.find(order.allocation); past != past_.end()) {
    QueueReport(order.allocation, past->second.time, past->second.exit, actions);
    return;
  }
  // The master expects the task here: without a report it would wait forever.
  QueueReport(order.allocation, now, TaskExit{.exit_code = 1, .message = "not running here"},
              actions);
}

void Supervisor::On(const AckReports& ack, absl::Time, Actions& actions) {
  while (!unacked_.empty() && unacked_.front().sequence <= ack.sequence) {
    const Report report = std::move(unacked_.front());
    unacked_.pop_front();
    if (!std::holds_alternative<TaskExit>(report.event)) continue;
    MarkAndForget(report.allocation, &PastTask::acked, actions);
  }
}

void Supervisor::On(const TaskAdopted& news, absl::Time, Actions&) {
  tasks_[news.allocation] = {
      .state = State::kStarting, .slots = news.slots, .fraction = news.fraction};
}

void Supervisor::On(const TaskStarted& news, absl::Time now, Actions& actions) {
  const auto known = tasks_.find(news.allocation);
  if (known == tasks_.end() || known->second.state != State::kStarting) return;
  known->second.state = State::kRunning;
  known->second.pid = news.pid;
  QueueReport(news.allocation, now, TaskStart{news.pid}, actions);
}

void Supervisor::On(const TaskExited& news, absl::Time now, Actions& actions) {
  const auto known = tasks_.find(news.allocation);
  if (known == tasks_.end() || !HasProcess(known->second)) return;
  Task& task = known->second;
  task.state = State::kEnded;
  task.exit = news.exit;
  task.exit_time = now;
  task.kill_at = absl::InfiniteFuture();
  task.report_at = now + kLogTimeout;
  actions.push_back(FlushLogs{news.allocation});
  StartWaiting(actions);
}

void Supervisor::On(const LogsPosted& news, absl::Time, Actions& actions) {
  const auto known = tasks_.find(news.allocation);
  if (known != tasks_.end() && known->second.state != State::kEnded) return;
  if (known != tasks_.end()) FinishTask(news.allocation, actions);
  MarkAndForget(news.allocation, &PastTask::logs_posted, actions);
}

void Supervisor::On(const StopAll& order, absl::Time now, Actions& actions) {
  stopping_ = true;
  for (const TaskSpec& spec : std::exchange(waiting_, {}))
    EndWaiting(spec.allocation, now, actions);
  for (auto& [id, task] : tasks_) Stop(id, task, order.grace, now, actions);
}

void Supervisor::On(const Tick&, absl::Time now, Actions& actions) {
  std::vector<AllocationId> ended;
  for (auto& [id, task] : tasks_) {
    if (task.kill_at <= now) Kill(id, task, actions);
    if (task.report_at <= now) ended.push_back(id);
  }
  for (const AllocationId& id : ended) FinishTask(id, actions);
}

void Supervisor::Stop(const AllocationId& id, Task& task, absl::Duration grace, absl::Time now,
                      Actions& actions) {
  if (task.state == State::kWaiting) {
    std::erase_if(waiting_, [&](const TaskSpec& spec) { return spec.allocation == id; });
    EndWaiting(id, now, actions);
    return StartWaiting(actions);
  }
  if (task.state == State::kEnded || task.killed) return;
  if (grace <= absl::ZeroDuration()) {
    Kill(id, task, actions);
    return;
  }
  // Many programs exit immediately on a second SIGTERM, so only one is sent.
  if (!std::exchange(task.terminated, true)) {
    actions.push_back(SignalProcess{id, StopSignal::kTerminate});
  }
  task.kill_at = std::min(task.kill_at, now + grace);
}

void Supervisor::Kill(const AllocationId& id, Task& task, Actions& actions) {
  task.killed = true;
  task.kill_at = absl::InfiniteFuture();
  actions.push_back(SignalProcess{id, StopSignal::kKill});
}

void Supervisor::StartWaiting(Actions& actions) {
  SlotUsage usage;
  for (const auto& [id, task] : tasks_) {
    if (HasProcess(task)) usage.Add(task.slots, task.fraction);
  }
  std::vector<TaskSpec> waiting;
  for (TaskSpec& spec : std::exchange(waiting_, {})) {
    const bool free = usage.HasRoom(spec.slots, spec.fraction);
    usage.Add(spec.slots, spec.fraction);
    if (free) {
      tasks_.at(spec.allocation).state = State::kStarting;
      actions.emplace_back(StartProcess{std::move(spec)});
    } else {
      waiting.push_back(std::move(spec));
    }
  }
  waiting_ = std::move(waiting);
}

void Supervisor::EndWaiting(const AllocationId& id, absl::Time now, Actions& actions) {
  Task& task = tasks_.at(id);
  task.exit = {.exit_code = 1, .message = "stopped before it started", .start_failed = true};
  task.exit_time = now;
  FinishTask(id, actions);
}

void Supervisor::FinishTask(const AllocationId& id, Actions& actions) {
  Task task = std::move(tasks_.at(id));
  tasks_.erase(id);
  Remember(id, PastTask{.slots = std::move(task.slots), .exit = task.exit, .time = task.exit_time});
  QueueReport(id, task.exit_time, task.exit, actions);
}

void Supervisor::MarkAndForget(const AllocationId& id, bool PastTask::*what, Actions& actions) {
  const auto found = past_.find(id);
  if (found == past_.end() || std::exchange(found->second.*what, true)) return;
  if (found->second.logs_posted && found->second.acked) actions.push_back(ForgetTask{id});
}

void Supervisor::Remember(const AllocationId& id, PastTask past) {
  past_.emplace(id, std::move(past));
  past_order_.push_back(id);
  if (past_order_.size() <= kMaxRememberedExits) return;
  past_.erase(past_order_.front());
  past_order_.pop_front();
}

void Supervisor::QueueReport(const AllocationId& id, absl::Time time,
                             std::variant<TaskStart, TaskExit> event, Actions& actions) {
  const auto same = [&](const Report& report) {
    return report.allocation == id && report.event.index() == event.index();
  };
  auto report = std::find_if(unacked_.begin(), unacked_.end(), same);
  if (report == unacked_.end()) {
    unacked_.push_back({++last_sequence_, id, time, std::move(event)});
    report = std::prev(unacked_.end());
  }
  actions.push_back(SendReport{*report});
}

}  // namespace det::agent
