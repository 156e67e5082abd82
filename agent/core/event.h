// What the supervisor hears and what it wants done.
// Made by MasterLink (orders) and Agent (news); Agent carries out the actions. On its loop.
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
  absl::Duration grace;  // zero: kill at once
};
// Reports up to here are committed by the master.
struct AckReports {
  int64_t sequence = 0;
};
// It was started by an agent before this one, and has perhaps ended since: TaskStarted and
// TaskExited follow as for one that starts now.
struct TaskAdopted {
  AllocationId allocation;
  std::vector<int> slots;
  double fraction = 1;
};
struct TaskStarted {
  AllocationId allocation;
  int pid = 0;
};
// The task's processes are gone, or never were.
struct TaskExited {
  AllocationId allocation;
  TaskExit exit;
};
// The last lines of a task that has ended are stored by the master.
struct LogsPosted {
  AllocationId allocation;
};
// The agent ends: stop all tasks, start no more.
struct StopAll {
  absl::Duration grace;
};
// NextDeadline() has come.
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
// Answered by LogsPosted.
struct FlushLogs {
  AllocationId allocation;
  friend bool operator==(const FlushLogs&, const FlushLogs&) = default;
};
struct SendReport {
  Report report;
  friend bool operator==(const SendReport&, const SendReport&) = default;
};

// The master has all that is to be known of it.
struct ForgetTask {
  AllocationId allocation;
  friend bool operator==(const ForgetTask&, const ForgetTask&) = default;
};

using Action = std::variant<StartProcess, SignalProcess, FlushLogs, SendReport, ForgetTask>;

}  // namespace det::agent

#endif  // AGENT_CORE_EVENT_H_
