// Everything that can happen to the cluster, as values. Requests (request.h) come from people,
// facts from agents and trials, the rest from the engine's own timers. Each may arrive late or
// twice.
//
// PURE.
#ifndef MASTER_CLUSTER_EVENT_H_
#define MASTER_CLUSTER_EVENT_H_

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "master/cluster/request.h"
#include "master/model/agent.h"
#include "master/model/ids.h"
#include "master/model/reports.h"
#include "master/model/states.h"

namespace det::cluster {

// ---- facts from agents ----

struct AgentRegistered {
  model::Agent agent;
  std::vector<model::AllocationId> running;  // shares that live on it now
};
struct AgentDisconnected {
  model::AgentId id;
};
// Away for longer than the master's patience.
struct AgentLost {
  model::AgentId id;
};
struct ShareStarted {
  model::AllocationId allocation;
  model::AgentId agent;
};
struct ShareExited {
  model::AllocationId allocation;
  model::AgentId agent;
  int exit_code = 0;
  int signal = 0;
  std::string message;
  bool start_failed = false;
};

// A line of a task's log looks like broken hardware (agents/hardware_patterns.h).
struct HardwareSuspected {
  model::AllocationId allocation;
  model::AgentId agent;
  std::string line;
};
// A line matched a log policy of the experiment.
struct LogPolicyMatched {
  model::AllocationId allocation;
  model::AgentId agent;
  std::string policy;  // its name, or its pattern where it has none
  bool cancel_retries = false;
  bool exclude_node = false;
};

// ---- facts from trials; `allocation` is the sender's and stale ones are dropped ----

struct ValidationReported {
  model::AllocationId allocation;
  model::MetricReport report;
};
struct CheckpointReported {
  model::AllocationId allocation;
  model::CheckpointRecord checkpoint;
};
// On load it was found that the files of a registered checkpoint are not what was saved; the run
// goes on from another one. No report when there was none: then the storage may be what is missing.
struct CheckpointDamaged {
  model::AllocationId allocation;
  model::TrialId trial;
  model::CheckpointId id;
  std::string damage;  // "file model.pt is missing"
  model::CheckpointId instead;
  int64_t steps_completed = 0;  // of `instead`
};
struct ProgressReported {
  model::AllocationId allocation;
  model::TrialId trial;
  double progress = 0;
  std::string runner_state;
};
struct PreemptionAcked {
  model::AllocationId allocation;
};
struct EarlyExitReported {
  model::AllocationId allocation;
  model::ExitReason reason = model::ExitReason::kNone;  // kInvalidHp or kInvalidCode
  std::string message;
};

// ---- the engine's own ----

struct ScheduleTick {};
// The sweep has looked at an experiment that has ended: by this policy, if it still is the
// experiment's, `drop` go. ABORTED when the experiment runs again.
struct RetainCheckpoints {
  model::ExperimentId id;
  experiment::RetentionPolicy policy;
  std::vector<model::CheckpointId> drop;
};
// A maintenance window is over; a month has ended.
struct CalendarTick {};
struct AllocationDeadline {
  model::AllocationId id;
};

template <class... Kinds>
struct EventKinds {
  template <class Kind>
  static constexpr int kIndexOf = [] {
    int index = 0;
    const bool found = ((std::is_same_v<Kind, Kinds> || (++index, false)) || ...);
    return found ? index : -1;
  }();
};
using AllEvents = EventKinds<
    CreateExperiment, PauseExperiment, ActivateExperiment, CancelExperiment, KillExperiment,
    KillTrial, ContinueExperiment, PostSearcherOperations, MoveExperiment, RenameSpace,
    DescribeExperiment, ArchiveExperiment, DeleteExperiment, SetRetention, DeleteCheckpoints,
    RetainCheckpoints, UpdateQueue, EnableAgent, DisableAgent, EnableSlot, DisableSlot,
    SetMaintenance, PutResourcePool, DeleteResourcePool, PutQuota, DeleteQuota, HardwareSuspected,
    LogPolicyMatched, CalendarTick, AgentRegistered, AgentDisconnected, AgentLost, ShareStarted,
    ShareExited, ValidationReported, CheckpointReported, CheckpointDamaged, ProgressReported,
    PreemptionAcked, EarlyExitReported, ScheduleTick, AllocationDeadline>;

// One of them. A value that never changes: copies share it. (Not a std::variant: moving one of
// forty alternatives costs each source that submits an event seconds of compile time.)
class Event {
 public:
  template <class Kind>
  requires(AllEvents::kIndexOf<Kind> >= 0) Event(Kind kind)
      : index_(AllEvents::kIndexOf<Kind>), kind_(std::make_shared<const Kind>(std::move(kind))) {}

  // Null when it is another.
  template <class Kind>
  const Kind* As() const {
    static_assert(AllEvents::kIndexOf<Kind> >= 0);
    return index_ == AllEvents::kIndexOf<Kind> ? static_cast<const Kind*>(kind_.get()) : nullptr;
  }

  // What `visitor` answers for the kind that it is.
  template <class Result, class Visitor>
  Result Visit(const Visitor& visitor) const {
    return VisitAs<Result>(visitor, AllEvents());
  }

 private:
  template <class Result, class Visitor, class... Kinds>
  Result VisitAs(const Visitor& visitor, EventKinds<Kinds...>) const {
    using Call = Result (*)(const Visitor&, const void*);
    static constexpr Call kCalls[] = {[](const Visitor& call, const void* kind) -> Result {
      return call(*static_cast<const Kinds*>(kind));
    }...};
    return kCalls[index_](visitor, kind_.get());
  }

  int index_;
  std::shared_ptr<const void> kind_;
};

}  // namespace det::cluster

#endif  // MASTER_CLUSTER_EVENT_H_
