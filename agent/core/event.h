// The inputs and outputs of the supervisor. Events are created by MasterLink (orders) and Agent
// (changes of tasks); Agent executes the actions. Used on the agent's loop.
//
// PURE.
#ifndef AGENT_CORE_EVENT_H_
#define AGENT_CORE_EVENT_H_

#include <cstdint>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "agent/core/task.h"

namespace det::agent {

// ---- events ----

struct StartTask {
  TaskSpec spec;
};
struct StopTask {
  AllocationId allocation;
  absl::Duration grace;  // zero: kill immediately
};
// The master has committed all reports up to this sequence.
struct AckReports {
  int64_t sequence = 0;
};
// The task was started by a previous agent and may have ended since: TaskStarted and TaskExited
// follow as for a task that starts now.
struct TaskAdopted {
  AllocationId allocation;
  std::vector<int> slots;
  double fraction = 1;
};
struct TaskStarted {
  AllocationId allocation;
  int pid = 0;
};
// All processes of the task have ended, or were never started.
struct TaskExited {
  AllocationId allocation;
  TaskExit exit;
};
// The master has stored all lines of a task that has ended.
struct LogsPosted {
  AllocationId allocation;
};
// The agent is stopping: stop all tasks, start no more.
struct StopAll {
  absl::Duration grace;
};
// The time that NextDeadline() returned is reached.
struct Tick {};

using Event = std::variant<StartTask, StopTask, AckReports, TaskAdopted, TaskStarted, TaskExited,
                           LogsPosted, StopAll, Tick>;

// ---- actions ----

enum class StopSignal { kTerminate, kKill };

struct StartProcess {
  TaskSpec spec;
  friend bool operator==(const StartProcess&, const StartProcess&) = default;
};
struct SignalProcess {
  AllocationId allocation;
  StopSignal signal = StopSignal::kTerminate;
  friend bool operator==(const SignalProcess&, const SignalProcess&) = default;
};
// Followed by the event LogsPosted.
struct FlushLogs {
  AllocationId allocation;
  friend bool operator==(const FlushLogs&, const FlushLogs&) = default;
};
struct SendReport {
  Report report;
  friend bool operator==(const SendReport&, const SendReport&) = default;
};

// The master has all information about the task.
struct ForgetTask {
  AllocationId allocation;
  friend bool operator==(const ForgetTask&, const ForgetTask&) = default;
};

using Action = std::variant<StartProcess, SignalProcess, FlushLogs, SendReport, ForgetTask>;

}  // namespace det::agent

#endif  // AGENT_CORE_EVENT_H_
