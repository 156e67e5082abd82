#include "agent/driver/fake_driver.h"

#include "absl/strings/numbers.h"

namespace det::agent {

std::map<std::string, std::string> FakeDriver::ParseScript(const std::vector<std::string>& argv) {
  std::map<std::string, std::string> script;
  for (size_t i = 0; i + 1 < argv.size(); i += 2) script[argv[i]] = argv[i + 1];
  return script;
}

void FakeDriver::StartTask(const std::shared_ptr<FakeTasks>& tasks, base::EventLoop* loop,
                           const AllocationId& id) {
  const auto found = tasks->tasks.find(id);
  if (found == tasks->tasks.end()) return;  // The driver was destroyed before the task started.
  FakeTasks::Task& task = found->second;
  auto& script = task.script;
  if (script.contains("fail_start")) {
    return End(*tasks, id, {.exit_code = 1, .message = script["fail_start"], .start_failed = true});
  }
  task.pid = ++tasks->last_pid;
  task.start_time = loop->Now();
  NotifyAll(*tasks, id);
  absl::Duration run_for = absl::InfiniteDuration();
  if (script.contains("run_for")) (void)absl::ParseDuration(script["run_for"], &run_for);
  int code = 0;
  (void)absl::SimpleAtoi(script["exit_code"], &code);
  if (run_for == absl::InfiniteDuration()) return;
  loop->PostAfter(run_for, [tasks, id, code] { End(*tasks, id, {.exit_code = code}); });
}

void FakeDriver::NotifyAll(FakeTasks& tasks, const AllocationId& id) {
  const auto found = tasks.tasks.find(id);
  if (tasks.listener == nullptr || found == tasks.tasks.end()) return;
  const FakeTasks::Task& task = found->second;
  if (task.pid != 0) tasks.listener->OnStarted(id, task.pid);
  if (const auto print = task.script.find("print");
      task.pid != 0 && !task.delivered && print != task.script.end()) {
    OutputLine line;
    line.time = task.start_time;
    line.stdtype = "stdout";
    line.text = print->second;
    line.sequence = 1;
    tasks.listener->OnOutput(id, {std::move(line)});
  }
  if (task.exit.has_value()) NotifyExited(tasks, id, *task.exit);
}

void FakeDriver::End(FakeTasks& tasks, const AllocationId& id, const TaskExit& exit) {
  const auto task = tasks.tasks.find(id);
  if (task == tasks.tasks.end() || task->second.exit.has_value()) return;
  task->second.exit = exit;
  NotifyExited(tasks, id, exit);
}

void FakeDriver::NotifyExited(FakeTasks& tasks, const AllocationId& id, const TaskExit& exit) {
  if (tasks.listener == nullptr) return;
  tasks.listener->OnExited(id, exit);
  tasks.listener->OnOutputEnded(id);
}

}  // namespace det::agent
