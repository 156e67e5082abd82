// A task that is not a trial: a command, notebook, shell, TensorBoard or generic task.
//
//              slots assigned
//   QUEUED ──────────────────► RUNNING ──► COMPLETED   exit 0
//     ▲ │                        │ │ │
//     │ │ pause        preempted,│ │ └───► ERROR       failed, or lost after its program started
//     │ ▼              not begun │ │
//   PAUSED ◄─────────────────────┘ │ pause, kill
//     │                            ▼
//     └──────────► CANCELED ◄── STOPPING (`end_as` is the next state)
//          kill
//
// A program that failed or was lost is not started again: it may have done half of its work.
//
// PURE; table in tables.h.
#ifndef MASTER_CORE_EXPERIMENT_TASK_H_
#define MASTER_CORE_EXPERIMENT_TASK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "master/core/experiment/allocation.h"
#include "master/core/experiment/experiment.h"
#include "master/core/model/ids.h"
#include "master/core/model/states.h"
#include "master/core/model/task_definition.h"

namespace det::experiment {

struct Task {
  model::TaskId id;  // a UUID; also the id of its job
  model::TaskKind kind = model::TaskKind::kCommand;
  model::UserId owner;
  std::string owner_name;  // for quotas
  // `workspace_name` is that of the workspace's row; a rename changes it.
  int32_t workspace = 1;
  std::string workspace_name;
  // Only generic tasks:
  std::optional<int32_t> project;
  std::optional<model::TaskId> parent;
  std::optional<model::TaskId> forked_from;
  bool pausable = false;
  // Shared: definitions may be large.
  std::shared_ptr<const model::TaskDefinition> definition;
  QueuePlace queue;
  model::TaskState state = model::TaskState::kQueued;
  // While kStopping: what it becomes once its allocation has ended.
  std::optional<model::TaskState> end_as;
  std::string reason;                             // of the end, or of the last new attempt
  int run_id = 1;                                 // number of the current or next attempt
  std::optional<model::AllocationId> allocation;  // of the current attempt
  // The port on its agent's loopback interface where its service answers; absent: not ready.
  std::optional<int> service_port;
  absl::Duration run_time;  // of its ended attempts
  absl::Time created_at;
  std::optional<absl::Time> ended_at;
};
// Compares the definition by value.
bool operator==(const Task& a, const Task& b);

model::JobId GetJob(const Task& task);

// What the caller must do.
struct TaskActions {
  bool changed = false;
  bool new_attempt = false;  // create and queue the allocation of attempt `run_id`
  bool release = false;      // stop its allocation
  bool ended = false;        // it has just become terminal
};

// Its allocation was assigned slots.
TaskActions OnAssigned(Task& task);
// Its program serves on this port.
TaskActions OnReady(Task& task, int port);

// Requests of users. A request for the current or the pending state changes nothing.
TaskActions Pause(Task& task);
TaskActions Activate(Task& task);
// Ends it as CANCELED, with `reason`.
TaskActions Kill(Task& task, const std::string& reason, absl::Time now);

// Its allocation has ended: determines the next state.
TaskActions OnAttemptEnded(Task& task, const Allocation& allocation, absl::Time now);

}  // namespace det::experiment

#endif  // MASTER_CORE_EXPERIMENT_TASK_H_
