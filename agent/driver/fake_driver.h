// A Driver without processes. Each task's argv is a script that runs in the virtual time of an
// EventLoop:
//   {"run_for", "5s", "exit_code", "3", "print", "text", "ignore_terminate", "1"} in any choice, or
//   {"fail_start", "why"}.
// Used by tests, on one thread. Starts no processes.
#ifndef AGENT_DRIVER_FAKE_DRIVER_H_
#define AGENT_DRIVER_FAKE_DRIVER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/driver/driver.h"
#include "base/event_loop.h"

namespace det::agent {

// The tasks of a machine; they outlive its drivers.
struct FakeTasks {
  struct Task {
    std::map<std::string, std::string> script;
    std::vector<int> slots;
    double fraction = 1;
    int pid = 0;  // 0: not started
    absl::Time start_time;
    bool delivered = false;
    std::optional<TaskExit> exit;
  };
  std::map<AllocationId, Task> tasks;
  int last_pid = 1000;
  TaskListener* listener = nullptr;  // of the current driver
};

class FakeDriver final : public Driver {
 public:
  FakeDriver(base::EventLoop* loop, TaskListener* listener,
             std::shared_ptr<FakeTasks> tasks = std::make_shared<FakeTasks>())
      : loop_(loop), tasks_(std::move(tasks)) {
    tasks_->listener = listener;
  }
  ~FakeDriver() override {
    tasks_->listener = nullptr;
    std::erase_if(tasks_->tasks, [](const auto& entry) { return entry.second.pid == 0; });
  }

  absl::StatusOr<std::vector<RunningTask>> Adopt() override {
    std::vector<RunningTask> adopted;
    for (const auto& [id, task] : tasks_->tasks) {
      adopted.push_back({id, task.slots, task.fraction});
      loop_->Post([tasks = tasks_, id = id] { NotifyAll(*tasks, id); });
    }
    return adopted;
  }

  void Start(const TaskSpec& spec) override {
    starts_.push_back(spec);
    FakeTasks::Task& task = tasks_->tasks[spec.allocation];
    task = {.script = ParseScript(spec.argv), .slots = spec.slots, .fraction = spec.fraction};
    loop_->Post(
        [tasks = tasks_, loop = loop_, id = spec.allocation] { StartTask(tasks, loop, id); });
  }

  void Signal(const AllocationId& allocation, StopSignal signal) override {
    signals_.emplace_back(allocation, signal);
    if (!tasks_->tasks.contains(allocation)) return;
    const bool kill = signal == StopSignal::kKill;
    loop_->Post([tasks = tasks_, allocation, kill] {
      const auto task = tasks->tasks.find(allocation);
      if (task == tasks->tasks.end()) return;
      if (!kill && task->second.script.contains("ignore_terminate")) return;
      End(*tasks, allocation, {.exit_code = kill ? 137 : 143, .signal = kill ? 9 : 15});
    });
  }

  void Delivered(const AllocationId& allocation, int64_t sequence) override {
    const auto task = tasks_->tasks.find(allocation);
    if (task != tasks_->tasks.end()) task->second.delivered = sequence > 0;
  }

  void Forget(const AllocationId& allocation) override {
    const auto task = tasks_->tasks.find(allocation);
    if (task != tasks_->tasks.end() && task->second.exit.has_value()) tasks_->tasks.erase(task);
  }

  const std::vector<TaskSpec>& starts() const { return starts_; }
  const std::vector<std::pair<AllocationId, StopSignal>>& signals() const { return signals_; }

 private:
  static std::map<std::string, std::string> ParseScript(const std::vector<std::string>& argv);
  static void StartTask(const std::shared_ptr<FakeTasks>& tasks, base::EventLoop* loop,
                        const AllocationId& id);
  // Repeats all events of a task so far.
  static void NotifyAll(FakeTasks& tasks, const AllocationId& id);
  static void End(FakeTasks& tasks, const AllocationId& id, const TaskExit& exit);
  static void NotifyExited(FakeTasks& tasks, const AllocationId& id, const TaskExit& exit);

  base::EventLoop* const loop_;
  const std::shared_ptr<FakeTasks> tasks_;
  std::vector<TaskSpec> starts_;
  std::vector<std::pair<AllocationId, StopSignal>> signals_;
};

}  // namespace det::agent

#endif  // AGENT_DRIVER_FAKE_DRIVER_H_
