// Decides what the agent does: (order of the master | news of a process | time) -> actions. Keeps
// the reports that the master has not acknowledged yet, and remembers how tasks ended.
// Owned by Agent, called on its loop only. Never starts, signals or sends anything itself.
//
//             StartTask                TaskStarted                TaskExited            LogsPosted
//   (unknown) ---------> [Starting] --------------> [Running] --------------> [Ended] -----------+
//       |                  ^  |       TaskExited (it never ran)                  ^     or 10 s   |
//       |    TaskAdopted   |  |                                                  |               |
//       |       slots free |  +--------------------------------------------------+               |
//       +--------------> [Held] -----------------------------------------------------------------+
//     slots in use                                StopTask                                       v
//                                                                   remembered among the last 1000
//
// A stop asked for in Starting or Running terminates at once and kills when its grace is over.
// Held: processes of other tasks still have too much of one of the slots, or earlier held tasks
// want it; tasks that ask for a fraction share a slot as far as their parts go into it. So it is
// when the master gave that other task up while this agent was out of its reach. A task is
// forgotten by the driver once its logs are stored and its end is acknowledged.
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
  static constexpr size_t kRememberedExits = 1000;
  static constexpr absl::Duration kLogPatience = absl::Seconds(10);

  // The only entry that changes anything. Late and repeated events lead to no action or to the same
  // answer again.
  std::vector<Action> Apply(const Event& event, absl::Time now);

  // To be sent, in this order, whenever a stream to the master is made.
  const std::deque<Report>& Unacked() const { return unacked_; }

  // What the master must count as living here: also tasks whose end it has not acknowledged.
  std::vector<RunningTask> Running() const;

  // When a Tick is due; InfiniteFuture if nothing waits for time.
  absl::Time NextDeadline() const;

  // No process lives and no exit is held back for its logs.
  bool Idle() const { return tasks_.empty(); }

  // One lives, or is being started.
  bool AnyProcess() const;

 private:
  enum class State { kHeld, kStarting, kRunning, kEnded };
  struct Task {
    State state = State::kHeld;
    std::vector<int> slots;
    double fraction = 1;  // of each
    int pid = 0;
    TaskExit exit;
    absl::Time exit_time;
    bool terminated = false;  // SIGTERM is on its way
    bool killed = false;      // SIGKILL is on its way
    absl::Time kill_at = absl::InfiniteFuture();
    absl::Time report_at = absl::InfiniteFuture();
  };
  static bool HasProcess(const Task& task) {
    return task.state == State::kStarting || task.state == State::kRunning;
  }
  // The end of a task that the master has heard of, or will.
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
  // Starts what waits and whose slots are free; earlier orders go first.
  void StartHeld(Actions& actions);
  // Held -> remembered.
  void Drop(const AllocationId& id, absl::Time now, Actions& actions);
  // Ended -> remembered; the Exited report goes out.
  void Forget(const AllocationId& id, Actions& actions);
  void Remember(const AllocationId& id, PastTask past);
  // Both must be known, in whatever order it comes.
  void Settle(const AllocationId& id, bool PastTask::*what, Actions& actions);
  // Sends again what is unacknowledged already, else makes a new report.
  void Answer(const AllocationId& id, absl::Time time, std::variant<TaskStart, TaskExit> event,
              Actions& actions);

  std::map<AllocationId, Task> tasks_;
  std::vector<TaskSpec> held_;  // in the order of their arrival
  std::map<AllocationId, PastTask> past_;
  std::deque<AllocationId> past_order_;  // oldest first
  std::deque<Report> unacked_;           // by sequence
  int64_t last_sequence_ = 0;
  bool stopping_ = false;
};

}  // namespace det::agent

#endif  // AGENT_CORE_SUPERVISOR_H_
