// An allocation: one start of a trial, from the wish for slots to the last exit of its shares.
//
//            Assign          AllStarted          Preempt             (acked, exit 0)
//   QUEUED ─────────► ASSIGNED ────────► RUNNING ────────► PREEMPTING ──────┐
//     │                  │                  │                  │            │
//     │ Withdraw         │ Stop             │ Stop             │ Stop       │ every share
//     │                  ▼                  ▼                  ▼            │ has exited
//     │               STOPPING ◄────────────┴──────────────────┘            │
//     ▼                  │ every share has exited                           │
//   TERMINATED ◄─────────┴──────────────────────────────────────────────────┘
//
// A share that fails (exit code not 0, agent lost) stops the others. The reason of the first
// failure is the reason of the whole. PURE; table in tables.h.
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

// How one agent's share goes.
struct Share {
  model::Placement placement;
  bool started = false;
  bool exited = false;
  int exit_code = 0;
  int signal = 0;
  std::string message;
  std::string suspect;  // a line of its log that looks like broken hardware; empty: none
  friend bool operator==(const Share&, const Share&) = default;
};

struct Allocation {
  model::AllocationId id;
  model::TaskId task;
  model::TrialId trial;
  int run_id = 0;
  model::JobId job;
  std::string resource_pool;
  int slots = 1;
  int max_slots = 0;      // elastic: from slots to this many; 0: exactly `slots`
  double fraction = 1;    // of each slot
  int granted = 0;        // slots that it got; 0 while queued
  int64_t submitted = 0;  // order in the queue
  model::AllocationState state = model::AllocationState::kQueued;
  std::vector<Share> shares;  // in order of node rank; empty while queued
  bool preemption_acked = false;
  std::string preemption_reason;
  std::optional<absl::Time> deadline;  // of the preemption or of the stop; then SIGKILL
  // What the trial said about its end, before it ended.
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

// What the caller must bring about. A call that does not apply in the present state changes nothing
// and asks for nothing: late and repeated messages are ordinary.
struct AllocationActions {
  bool start_shares = false;    // send StartTask for each share
  bool announce = false;        // all shares have started: the rendezvous is known
  bool notify_preempt = false;  // tell the trial
  // Agents whose share must be stopped; grace zero means SIGKILL now.
  std::vector<model::AgentId> stop;
  absl::Duration grace;
  std::optional<absl::Time> set_timer;  // call OnDeadline then
  bool terminated = false;              // just now
};

// How a share ended, as its agent says it.
struct ShareExit {
  int exit_code = 0;
  int signal = 0;
  std::string message;
  bool start_failed = false;
};

AllocationActions Assign(Allocation& a, std::vector<model::Placement> placements, absl::Time now);
AllocationActions ShareStarted(Allocation& a, const model::AgentId& agent);
AllocationActions ShareExited(Allocation& a, const model::AgentId& agent, const ShareExit& exit,
                              absl::Time now);
AllocationActions AgentLost(Allocation& a, const model::AgentId& agent, absl::Time now);
// Asks the trial to save and exit before now + timeout.
AllocationActions Preempt(Allocation& a, const std::string& reason, absl::Duration timeout,
                          absl::Time now);
// False when it changes nothing.
bool AckPreemption(Allocation& a);
// Ends it: SIGTERM, SIGKILL after grace. A queued one terminates at once. `why`: for its end, where
// that has no better reason.
AllocationActions Stop(Allocation& a, absl::Duration grace, absl::Time now,
                       const std::string& why = "");
// A preemption that was not obeyed in time becomes a Stop.
AllocationActions OnDeadline(Allocation& a, absl::Duration grace, absl::Time now);

}  // namespace det::experiment

#endif  // MASTER_CORE_EXPERIMENT_ALLOCATION_H_
