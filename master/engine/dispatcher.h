// Effects to the sinks and timers that they are for, in order.
// Called by the engine on its loop, after the commit. Never decides anything.
#ifndef MASTER_ENGINE_DISPATCHER_H_
#define MASTER_ENGINE_DISPATCHER_H_

#include <vector>

#include "master/core/cluster/effect.h"
#include "master/engine/sinks.h"
#include "master/engine/timers.h"

namespace det::engine {

class Dispatcher {
 public:
  // A sink that is null is one for which nobody is there. `timers` must outlive this.
  Dispatcher(Sinks sinks, Timers* timers) : sinks_(sinks), timers_(*timers) {}

  void Dispatch(const std::vector<cluster::Effect>& effects);

 private:
  void Do(const cluster::StartTask& effect);
  void Do(const cluster::StopTask& effect);
  void Do(const cluster::AnnounceRendezvous& effect);
  void Do(const cluster::AnnouncePreemption& effect);
  void Do(const cluster::CloseAllocation& effect);
  void Do(const cluster::SetDeadline& effect);
  void Do(const cluster::ScheduleSoon& effect);
  void Do(const cluster::SetScheduleTimer& effect);
  void Do(const cluster::SetCalendarTimer& effect);
  void Do(const cluster::QueueChanged& effect);
  void Do(const cluster::ExperimentChanged& effect);
  void Do(const cluster::SweepSoon& effect);
  void Do(const cluster::DeliverSoon& effect);

  const Sinks sinks_;
  Timers& timers_;
};

}  // namespace det::engine

#endif  // MASTER_ENGINE_DISPATCHER_H_
