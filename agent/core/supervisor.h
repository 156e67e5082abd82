// Decides what the agent does: (order of the master | change of a process | time) -> actions. Keeps
// the reports that the master has not acknowledged, and remembers how tasks ended. Owned by Agent,
// called on its loop only. Never starts, signals or sends anything itself.
//
//             StartTask                TaskStarted                TaskExited            LogsPosted
//   (unknown) ---------> [Starting] --------------> [Running] --------------> [Ended] -----------+
//       |                  ^  |       TaskExited (it never ran)                  ^     or 10 s   |
//       |    TaskAdopted   |  |                                                  |               |
//       |       slots free |  +--------------------------------------------------+               |
//       +------------> [Waiting] --------------------------------------------------------------+
//     slots in use                                StopTask                                       v
//                                                                   remembered among the last 1000
//
// A stop in state Starting or Running sends SIGTERM at once and SIGKILL when the grace period is
// over. Waiting: processes of other tasks still use one of the slots, or an earlier waiting task
// needs it; tasks that need a fraction share a slot as far as their fractions fit. This happens if
// the master gave up the other task while this agent was disconnected. The driver forgets a task
// once its logs are stored and its exit is acknowledged.
//
// PURE.
#ifndef AGENT_CORE_SUPERVISOR_H_
#define AGENT_CORE_SUPERVISOR_H_

#include <cstdint>
#include <deque>
#include <map>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "agent/core/event.h"
#include "agent/core/task.h"

namespace det::agent {

class Supervisor {
 public:
  static constexpr size_t kMaxRememberedExits = 1000;
  static constexpr absl::Duration kLogTimeout = absl::Seconds(10);

  // The only function that changes the state. Late and repeated events lead to no action or to the
  // same report again.
  std::vector<Action> Apply(const Event& event, absl::Time now);

  // Returns the reports to send, in this order, whenever a stream to the master is opened.
  const std::deque<Report>& unacknowledged() const { return unacked_; }

  // Returns the tasks that the master must count as running here, including tasks whose exit it has
  // not acknowledged.
  std::vector<RunningTask> GetRunningTasks() const;

  // Returns when a Tick is due; InfiniteFuture if no deadline is pending.
  absl::Time NextDeadline() const;

  // Returns whether no process is running and no exit report waits for its logs.
  bool IsIdle() const { return tasks_.empty(); }

  // Returns whether a process is running or being started.
  bool HasProcesses() const;

 private:
  enum class State { kWaiting, kStarting, kRunning, kEnded };
  struct Task {
    State state = State::kWaiting;
    std::vector<int> slots;
    double fraction = 1;  // of each slot
    int pid = 0;
    TaskExit exit;
    absl::Time exit_time;
    bool terminated = false;  // SIGTERM was sent
    bool killed = false;      // SIGKILL was sent
    absl::Time kill_at = absl::InfiniteFuture();
    absl::Time report_at = absl::InfiniteFuture();
  };
  static bool HasProcess(const Task& task) {
    return task.state == State::kStarting || task.state == State::kRunning;
  }
  // The end of a task that was reported, or is about to be reported.
  struct PastTask {
    std::vector<int> slots;
    TaskExit exit;
    absl::Time time;
    bool logs_posted = false;
    bool acked = false;
  };
  using Actions = std::vector<Action>;

  void On(const StartTask& order, absl::Time now, Actions& actions);
  void On(const StopTask& order, absl::Time now, Actions& actions);
  void On(const AckReports& ack, absl::Time now, Actions& actions);
  void On(const TaskAdopted& news, absl::Time now, Actions& actions);
  void On(const TaskStarted& news, absl::Time now, Actions& actions);
  void On(const TaskExited& news, absl::Time now, Actions& actions);
  void On(const LogsPosted& news, absl::Time now, Actions& actions);
  void On(const StopAll& order, absl::Time now, Actions& actions);
  void On(const Tick& tick, absl::Time now, Actions& actions);

  void Stop(const AllocationId& id, Task& task, absl::Duration grace, absl::Time now,
            Actions& actions);
  void Kill(const AllocationId& id, Task& task, Actions& actions);
  // Starts waiting tasks whose slots are free, in the order of their arrival.
  void StartWaiting(Actions& actions);
  // Ends a task that waits.
  void EndWaiting(const AllocationId& id, absl::Time now, Actions& actions);
  // Moves an ended task to the remembered ones and sends its exit report.
  void FinishTask(const AllocationId& id, Actions& actions);
  void Remember(const AllocationId& id, PastTask past);
  // Sets one of the two conditions for forgetting a task; they may arrive in any order.
  void MarkAndForget(const AllocationId& id, bool PastTask::* what, Actions& actions);
  // Sends a report again if it is unacknowledged, else creates a new one.
  void QueueReport(const AllocationId& id, absl::Time time, std::variant<TaskStart, TaskExit> event,
                   Actions& actions);

  std::map<AllocationId, Task> tasks_;
  std::vector<TaskSpec> waiting_;  // in the order of their arrival
  std::map<AllocationId, PastTask> past_;
  std::deque<AllocationId> past_order_;  // oldest first
  std::deque<Report> unacked_;           // by sequence
  int64_t last_sequence_ = 0;
  bool stopping_ = false;
};

}  // namespace det::agent

#endif  // AGENT_CORE_SUPERVISOR_H_
