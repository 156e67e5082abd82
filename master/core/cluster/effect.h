// What the process does once the changes of the same outcome are committed. Every effect is
// idempotent and can be derived from the state again (regenerate.h).
//
// PURE.
#ifndef MASTER_CORE_CLUSTER_EFFECT_H_
#define MASTER_CORE_CLUSTER_EFFECT_H_

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "master/core/cluster/event.h"
#include "master/core/model/agent.h"
#include "master/core/model/ids.h"

namespace det::cluster {

// What an agent starts; becomes det.agent.v1.TaskSpec on the wire.
struct TaskSpec {
  model::AllocationId allocation;
  model::TaskId task;
  std::vector<int> slots;
  double fraction = 1;  // of each slot; other tasks may use the rest
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> files;  // below the run directory
  std::string context_hash;
  friend bool operator==(const TaskSpec&, const TaskSpec&) = default;
};

struct StartTask {
  model::AgentId agent;
  TaskSpec spec;
  friend bool operator==(const StartTask&, const StartTask&) = default;
};
struct StopTask {
  model::AgentId agent;
  model::AllocationId allocation;
  absl::Duration grace;  // zero: SIGKILL now
  friend bool operator==(const StopTask&, const StopTask&) = default;
};

// The AnnounceX effects go to the watchers of the allocation (the trial's WatchAllocation stream).
struct RendezvousNode {
  model::AgentId agent;
  std::string address;
  int slots = 0;
  friend bool operator==(const RendezvousNode&, const RendezvousNode&) = default;
};
struct AnnounceRendezvous {
  model::AllocationId allocation;
  std::vector<RendezvousNode> nodes;
  friend bool operator==(const AnnounceRendezvous&, const AnnounceRendezvous&) = default;
};
struct AnnouncePreemption {
  model::AllocationId allocation;
  std::string reason;
  absl::Time deadline;
  friend bool operator==(const AnnouncePreemption&, const AnnouncePreemption&) = default;
};
// The allocation has ended: ends its watch streams and revokes its token.
struct CloseAllocation {
  model::AllocationId allocation;
  friend bool operator==(const CloseAllocation&, const CloseAllocation&) = default;
};

// Apply AllocationDeadline{allocation} at `at`. A later SetDeadline for the same allocation
// replaces it.
struct SetDeadline {
  model::AllocationId allocation;
  absl::Time at;
  friend bool operator==(const SetDeadline&, const SetDeadline&) = default;
};
// Apply a ScheduleTick soon; several requests become one.
struct ScheduleSoon {
  friend bool operator==(const ScheduleSoon&, const ScheduleSoon&) = default;
};
// Apply a ScheduleTick at `at`. A later one replaces it.
struct SetScheduleTimer {
  absl::Time at;
  friend bool operator==(const SetScheduleTimer&, const SetScheduleTimer&) = default;
};
// Apply a CalendarTick at `at`. A later one replaces it.
struct SetCalendarTimer {
  absl::Time at;
  friend bool operator==(const SetCalendarTimer&, const SetCalendarTimer&) = default;
};
// The queue or a wait reason may have changed: wakes the watchers of the queue.
struct QueueChanged {
  friend bool operator==(const QueueChanged&, const QueueChanged&) = default;
};
// The experiment or one of its trials changed: wakes the watchers of the experiment.
struct ExperimentChanged {
  model::ExperimentId id;
  friend bool operator==(const ExperimentChanged&, const ExperimentChanged&) = default;
};

// The task, which is not a trial, changed: wakes its watchers.
struct TaskChanged {
  model::TaskId id;
  friend bool operator==(const TaskChanged&, const TaskChanged&) = default;
};

// Run garbage collection soon: files or rows may have become removable.
struct CollectGarbageSoon {
  friend bool operator==(const CollectGarbageSoon&, const CollectGarbageSoon&) = default;
};
// Deliver to webhooks soon: a delivery may have been queued.
struct DeliverWebhooksSoon {
  friend bool operator==(const DeliverWebhooksSoon&, const DeliverWebhooksSoon&) = default;
};

using Effect =
    std::variant<StartTask, StopTask, AnnounceRendezvous, AnnouncePreemption, CloseAllocation,
                 SetDeadline, ScheduleSoon, SetScheduleTimer, SetCalendarTimer, QueueChanged,
                 ExperimentChanged, TaskChanged, CollectGarbageSoon, DeliverWebhooksSoon>;

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_EFFECT_H_
