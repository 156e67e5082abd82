// An allocation: the slots and local tasks of one attempt of a task, from the request for slots to
// the exit of its last local task.
//
//            Assign          AllStarted          Preempt             (acked, exit 0)
//   QUEUED ─────────► ASSIGNED ────────► RUNNING ────────► PREEMPTING ──────┐
//     │                  │                  │                  │            │
//     │ Withdraw         │ Stop             │ Stop             │ Stop       │ every local task
//     │                  ▼                  ▼                  ▼            │ has exited
//     │               STOPPING ◄────────────┴──────────────────┘            │
//     ▼                  │ every local task has exited                      │
//   TERMINATED ◄─────────┴──────────────────────────────────────────────────┘
//
// If a local task fails (exit code not 0, agent lost), the others are stopped. The reason of the
// first failure is the reason of the allocation. PURE; table in tables.h.
#ifndef MASTER_CORE_EXPERIMENT_ALLOCATION_H_
#define MASTER_CORE_EXPERIMENT_ALLOCATION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "master/core/model/agent.h"
#include "master/core/model/ids.h"
#include "master/core/model/states.h"

namespace det::experiment {

// One agent's part of an allocation.
struct LocalTask {
  model::Placement placement;
  bool started = false;
  bool exited = false;
  int exit_code = 0;
  int signal = 0;
  std::string message;
  std::string suspect;  // a log line that indicates a hardware failure; empty: none
  friend bool operator==(const LocalTask&, const LocalTask&) = default;
};

struct Allocation {
  model::AllocationId id;
  model::TaskId task;
  model::TrialId trial;  // 0: `task` is not a trial
  int run_id = 0;
  model::JobId job;
  std::string resource_pool;
  int slots = 1;
  int max_slots = 0;      // elastic: from slots to this many; 0: exactly `slots`
  double fraction = 1;    // of each slot
  int granted = 0;        // slots that it got; 0 while queued
  int64_t submitted = 0;  // order in the queue
  model::AllocationState state = model::AllocationState::kQueued;
  std::vector<LocalTask> local_tasks;  // in order of node rank; empty while queued
  bool preemption_acked = false;
  std::string preemption_reason;
  std::optional<absl::Time> deadline;  // of the preemption or of the stop; then SIGKILL
  // What the trial reported about its exit.
  model::ExitReason reported = model::ExitReason::kNone;
  std::string reported_message;
  model::ExitReason exit_reason = model::ExitReason::kNone;
  std::string exit_message;  // "rank 1 failed: killed by SIGKILL"
  std::optional<int> exit_code;
  absl::Time queued_at;
  std::optional<absl::Time> started_at;  // slots were assigned
  std::optional<absl::Time> ended_at;
  std::optional<absl::Time> saved_at;  // its newest checkpoint was reported
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

inline bool IsTrial(const Allocation& a) { return a.trial.value() != 0; }

// What the caller must do. A call that does not apply in the current state changes nothing and
// returns no action: late and repeated messages are normal.
struct AllocationActions {
  bool start_local_tasks = false;  // send StartTask for each local task
  bool announce = false;           // all local tasks have started: the rendezvous is known
  bool notify_preempt = false;     // notify the trial
  // Agents whose local task must be stopped; grace zero means SIGKILL now.
  std::vector<model::AgentId> stop;
  absl::Duration grace;
  std::optional<absl::Time> set_timer;  // call OnDeadline then
  bool terminated = false;              // just now
};

// How a local task ended, as its agent reports it.
struct LocalTaskExit {
  int exit_code = 0;
  int signal = 0;
  std::string message;
  bool start_failed = false;
  bool system_failure = false;  // the machine or the agent failed, not the task
};

AllocationActions Assign(Allocation& a, std::vector<model::Placement> placements, absl::Time now);
AllocationActions OnLocalTaskStarted(Allocation& a, const model::AgentId& agent);
AllocationActions OnLocalTaskExited(Allocation& a, const model::AgentId& agent,
                                    const LocalTaskExit& exit, absl::Time now);
AllocationActions OnAgentLost(Allocation& a, const model::AgentId& agent, absl::Time now);
// Requests that the trial checkpoints and exits before now + timeout.
AllocationActions Preempt(Allocation& a, const std::string& reason, absl::Duration timeout,
                          absl::Time now);
// Returns false if nothing changed.
bool AckPreemption(Allocation& a);
// Stops the allocation: SIGTERM, and SIGKILL after `grace`. A queued one terminates at once. `why`
// is the exit message unless there is an earlier one.
AllocationActions Stop(Allocation& a, absl::Duration grace, absl::Time now,
                       const std::string& why = "");
// Turns a preemption that timed out into a Stop.
AllocationActions OnDeadline(Allocation& a, absl::Duration grace, absl::Time now);

}  // namespace det::experiment

#endif  // MASTER_CORE_EXPERIMENT_ALLOCATION_H_
