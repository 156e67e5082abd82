// What the process does to the world once the changes of the same outcome are committed. Every
// effect can be done twice and can be derived again from state (regenerate.h).
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

// A resolved order to an agent; becomes det.agent.v1.TaskSpec on the wire.
struct TaskSpec {
  model::AllocationId allocation;
  model::TaskId task;
  std::vector<int> slots;
  double fraction = 1;  // of each slot: others may have the rest
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

// To those who watch the allocation (the trial's WatchAllocation stream).
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
// The allocation has ended: its watch streams end, its token is void.
struct CloseAllocation {
  model::AllocationId allocation;
  friend bool operator==(const CloseAllocation&, const CloseAllocation&) = default;
};

// Apply AllocationDeadline{allocation} at `at`. A later SetDeadline of the same allocation replaces
// it.
struct SetDeadline {
  model::AllocationId allocation;
  absl::Time at;
  friend bool operator==(const SetDeadline&, const SetDeadline&) = default;
};
// Apply a ScheduleTick soon; several become one.
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
// Who waits, or why, may have changed: those who watch what is queued look again.
struct QueueChanged {
  friend bool operator==(const QueueChanged&, const QueueChanged&) = default;
};
// Something about this experiment (its trials included) changed: watchers look again.
struct ExperimentChanged {
  model::ExperimentId id;
  friend bool operator==(const ExperimentChanged&, const ExperimentChanged&) = default;
};

// There may be something to remove.
struct SweepSoon {
  friend bool operator==(const SweepSoon&, const SweepSoon&) = default;
};
// There may be something to tell webhooks.
struct DeliverSoon {
  friend bool operator==(const DeliverSoon&, const DeliverSoon&) = default;
};

using Effect =
    std::variant<StartTask, StopTask, AnnounceRendezvous, AnnouncePreemption, CloseAllocation,
                 SetDeadline, ScheduleSoon, SetScheduleTimer, SetCalendarTimer, QueueChanged,
                 ExperimentChanged, SweepSoon, DeliverSoon>;

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_EFFECT_H_
