// Receivers of effects. Each is called on the engine's loop, in order, after the commit; it must
// not block. An effect for a receiver that is disconnected is dropped: the cluster derives it again
// when the receiver returns.
#ifndef MASTER_ENGINE_SINKS_H_
#define MASTER_ENGINE_SINKS_H_

#include "master/core/cluster/effect.h"

namespace det::engine {

// Commands to agents. Implemented by agents::AgentHub.
class AgentSink {
 public:
  virtual ~AgentSink() = default;
  virtual void Start(const cluster::StartTask& order) = 0;
  virtual void Stop(const cluster::StopTask& order) = 0;
};

// Notifications for running trials. Implemented by live::AllocationWatch.
class TrialSink {
 public:
  virtual ~TrialSink() = default;
  virtual void Announce(const cluster::AnnounceRendezvous& event) = 0;
  virtual void Announce(const cluster::AnnouncePreemption& event) = 0;
  virtual void Close(const cluster::CloseAllocation& event) = 0;
};

// Notifications for watchers of experiments and other tasks. Implemented by live::ExperimentWatch.
class ExperimentSink {
 public:
  virtual ~ExperimentSink() = default;
  virtual void Changed(model::ExperimentId id) = 0;
  // The task is not a trial.
  virtual void Changed(const model::TaskId& id) = 0;
  // The queue, or a wait reason, may have changed.
  virtual void QueueChanged() = 0;
};

// Woken when there may be garbage to collect. Implemented by gc::GcThread.
class GcSink {
 public:
  virtual ~GcSink() = default;
  virtual void Wake() = 0;
};

// Woken when there may be deliveries to send. Implemented by webhooks::Deliverer.
class WebhookSink {
 public:
  virtual ~WebhookSink() = default;
  virtual void Wake() = 0;
};

struct Sinks {
  AgentSink* agents = nullptr;
  TrialSink* trials = nullptr;
  ExperimentSink* experiments = nullptr;
  GcSink* gc = nullptr;
  WebhookSink* webhooks = nullptr;
};

}  // namespace det::engine

#endif  // MASTER_ENGINE_SINKS_H_
