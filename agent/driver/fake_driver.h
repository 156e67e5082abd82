// A Driver without processes, scripted by each task's argv, in the virtual time of an EventLoop:
//   {"run_for", "5s", "exit_code", "3", "print", "text", "ignore_terminate", "1"} in any choice, or
//   {"fail_start", "why"}.
// Used by tests, on one thread. Never starts anything.
#ifndef AGENT_DRIVER_FAKE_DRIVER_H_
#define AGENT_DRIVER_FAKE_DRIVER_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "agent/driver/driver.h"
#include "base/event_loop.h"

namespace det::agent {

class FakeDriver final : public Driver {
 public:
  FakeDriver(base::EventLoop* loop, TaskListener* listener) : loop_(loop), listener_(listener) {}
  ~FakeDriver() override {
    while (!tasks_.empty()) End(tasks_.begin()->first, {.exit_code = 137, .signal = 9});
  }

  void Start(const TaskSpec& spec) override {
    starts_.push_back(spec);
    const std::map<std::string, std::string> script = Script(spec.argv);
    if (const auto why = script.find("fail_start"); why != script.end()) {
      loop_->Post([this, id = spec.allocation, message = why->second] {
        listener_->OnExited(id, {.exit_code = 1, .message = message, .start_failed = true});
      });
      return;
    }
    tasks_[spec.allocation] = script;
    loop_->Post([this, id = spec.allocation] { Run(id); });
  }

  void Signal(const AllocationId& allocation, StopSignal signal) override {
    signals_.emplace_back(allocation, signal);
    if (!tasks_.contains(allocation)) return;
    const bool kill = signal == StopSignal::kKill;
    loop_->Post([this, allocation, kill] {
      const auto task = tasks_.find(allocation);
      if (task == tasks_.end() || (!kill && task->second.contains("ignore_terminate"))) return;
      End(allocation, {.exit_code = kill ? 137 : 143, .signal = kill ? 9 : 15});
    });
  }

  const std::vector<TaskSpec>& starts() const { return starts_; }
  const std::vector<std::pair<AllocationId, StopSignal>>& signals() const { return signals_; }

 private:
  static std::map<std::string, std::string> Script(const std::vector<std::string>& argv) {
    std::map<std::string, std::string> script;
    for (size_t i = 0; i + 1 < argv.size(); i += 2) script[argv[i]] = argv[i + 1];
    return script;
  }

  void Run(const AllocationId& id) {
    const auto task = tasks_.find(id);
    if (task == tasks_.end()) return;  // It was stopped before it began.
    auto& script = task->second;
    listener_->OnStarted(id, ++last_pid_);
    if (script.contains("print")) {
      OutputLine line;
      line.time = loop_->Now();
      line.stdtype = "stdout";
      line.text = script["print"];
      listener_->OnOutput(id, {std::move(line)});
    }
    absl::Duration run_for = absl::InfiniteDuration();
    if (script.contains("run_for")) (void)absl::ParseDuration(script["run_for"], &run_for);
    int code = 0;
    (void)absl::SimpleAtoi(script["exit_code"], &code);
    if (run_for == absl::InfiniteDuration()) return;
    loop_->PostAfter(run_for, [this, id, code] { End(id, {.exit_code = code}); });
  }

  void End(const AllocationId& id, const TaskExit& exit) {
    if (tasks_.erase(AllocationId(id)) > 0) listener_->OnExited(id, exit);
  }

  base::EventLoop* const loop_;
  TaskListener* const listener_;
  int last_pid_ = 1000;
  std::map<AllocationId, std::map<std::string, std::string>> tasks_;
  std::vector<TaskSpec> starts_;
  std::vector<std::pair<AllocationId, StopSignal>> signals_;
};

}  // namespace det::agent

#endif  // AGENT_DRIVER_FAKE_DRIVER_H_
