// Where effects go. Each is called on the engine's loop, in order, after the commit; it must not
// block. An effect for a party that is not there is dropped: it is derived again when it returns.
#ifndef MASTER_ENGINE_SINKS_H_
#define MASTER_ENGINE_SINKS_H_

#include "master/core/cluster/effect.h"

namespace det::engine {

// Orders to agents. Implemented by agents::AgentHub.
class AgentSink {
 public:
  virtual ~AgentSink() = default;
  virtual void Start(const cluster::StartTask& order) = 0;
  virtual void Stop(const cluster::StopTask& order) = 0;
};

// News for running trials. Implemented by live::AllocationWatch.
class TrialSink {
 public:
  virtual ~TrialSink() = default;
  virtual void Announce(const cluster::AnnounceRendezvous& news) = 0;
  virtual void Announce(const cluster::AnnouncePreemption& news) = 0;
  virtual void Close(const cluster::CloseAllocation& news) = 0;
};

// News for those who watch experiments. Implemented by live::ExperimentWatch.
class ExperimentSink {
 public:
  virtual ~ExperimentSink() = default;
  virtual void Changed(model::ExperimentId id) = 0;
  // Who waits, or why, may have changed.
  virtual void QueueChanged() = 0;
};

// Told that there may be something to remove. Implemented by gc::Sweep.
class SweepSink {
 public:
  virtual ~SweepSink() = default;
  virtual void Soon() = 0;
};

// Told that there may be something to deliver. Implemented by webhooks::Deliverer.
class WebhookSink {
 public:
  virtual ~WebhookSink() = default;
  virtual void Soon() = 0;
};

struct Sinks {
  AgentSink* agents = nullptr;
  TrialSink* trials = nullptr;
  ExperimentSink* experiments = nullptr;
  SweepSink* sweep = nullptr;
  WebhookSink* webhooks = nullptr;
};

}  // namespace det::engine

#endif  // MASTER_ENGINE_SINKS_H_
