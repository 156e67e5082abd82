// Everything that can happen to the cluster, as one type: requests of users (request.h) and facts
// (fact.h). Each may arrive late or twice.
//
// PURE.
#ifndef MASTER_CORE_CLUSTER_EVENT_H_
#define MASTER_CORE_CLUSTER_EVENT_H_

#include <memory>
#include <type_traits>
#include <utility>

#include "master/core/cluster/fact.h"
#include "master/core/cluster/request.h"

namespace det::cluster {

template <class... Kinds>
struct EventKinds {
  template <class Kind>
  static constexpr int kIndexOf = [] {
    int index = 0;
    const bool found = ((std::is_same_v<Kind, Kinds> || (++index, false)) || ...);
    return found ? index : -1;
  }();
};
using AllEvents =
    EventKinds<CreateExperiment, ReserveId, PauseExperiment, ActivateExperiment, CancelExperiment,
               KillExperiment, KillTrial, ContinueExperiment, PostSearcherOperations,
               MoveExperiment, RenameWorkspaceOrProject, UpdateExperimentDetails, ArchiveExperiment,
               DeleteExperiment, SetRetention, DeleteCheckpoints, RetainCheckpoints, CreateTask,
               KillTasks, PauseTasks, ActivateTasks, TaskReady, UpdateQueue,
               EnableAgent, DisableAgent, EnableSlot, DisableSlot, SetMaintenance, PutResourcePool,
               DeleteResourcePool, PutQuota, DeleteQuota, HardwareSuspected, LogPolicyMatched,
               CalendarTick, AgentRegistered, AgentDisconnected, AgentLost, LocalTaskStarted,
               LocalTaskExited, ValidationsReported, CheckpointReported, CheckpointDamaged,
               ProgressReported, PreemptionAcked, EarlyExitReported, ScheduleTick,
               AllocationDeadline>;

// One event. Immutable; copies share the value. (Not a std::variant: moving one of forty
// alternatives costs each source that submits an event seconds of compile time.)
class Event {
 public:
  template <class Kind>
  requires(AllEvents::kIndexOf<Kind> >= 0) Event(Kind kind)
      : index_(AllEvents::kIndexOf<Kind>), kind_(std::make_shared<const Kind>(std::move(kind))) {}

  // Returns null if the event is of another kind.
  template <class Kind>
  const Kind* As() const {
    static_assert(AllEvents::kIndexOf<Kind> >= 0);
    return index_ == AllEvents::kIndexOf<Kind> ? static_cast<const Kind*>(kind_.get()) : nullptr;
  }

  // Calls `visitor` with the event's kind and returns its result.
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

#endif  // MASTER_CORE_CLUSTER_EVENT_H_
