// Delivers effects to sinks and timers, in order. Called by the engine on its loop, after the
// commit. Makes no decisions.
#ifndef MASTER_ENGINE_DISPATCHER_H_
#define MASTER_ENGINE_DISPATCHER_H_

#include <vector>

#include "master/core/cluster/effect.h"
#include "master/engine/sinks.h"
#include "master/engine/timers.h"

namespace det::engine {

class Dispatcher {
 public:
  // Sinks may be null; their effects are dropped. `timers` must outlive the dispatcher.
  Dispatcher(Sinks sinks, Timers* timers) : sinks_(sinks), timers_(*timers) {}

  void Dispatch(const std::vector<cluster::Effect>& effects);

 private:
  void Deliver(const cluster::StartTask& effect);
  void Deliver(const cluster::StopTask& effect);
  void Deliver(const cluster::AnnounceRendezvous& effect);
  void Deliver(const cluster::AnnouncePreemption& effect);
  void Deliver(const cluster::CloseAllocation& effect);
  void Deliver(const cluster::SetDeadline& effect);
  void Deliver(const cluster::ScheduleSoon& effect);
  void Deliver(const cluster::SetScheduleTimer& effect);
  void Deliver(const cluster::SetCalendarTimer& effect);
  void Deliver(const cluster::QueueChanged& effect);
  void Deliver(const cluster::ExperimentChanged& effect);
  void Deliver(const cluster::TaskChanged& effect);
  void Deliver(const cluster::CollectGarbageSoon& effect);
  void Deliver(const cluster::DeliverWebhooksSoon& effect);

  const Sinks sinks_;
  Timers& timers_;
};

}  // namespace det::engine

#endif  // MASTER_ENGINE_DISPATCHER_H_
