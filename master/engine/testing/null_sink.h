// A receiver of the engine's effects that ignores them, for tests of other parts.
#ifndef MASTER_ENGINE_TESTING_NULL_SINK_H_
#define MASTER_ENGINE_TESTING_NULL_SINK_H_

#include "master/engine/sinks.h"

namespace det::engine {

class NullSink final : public AgentSink, public TrialSink, public ExperimentSink {
 public:
  void Start(const cluster::StartTask&) override {}
  void Stop(const cluster::StopTask&) override {}
  void Announce(const cluster::AnnounceRendezvous&) override {}
  void Announce(const cluster::AnnouncePreemption&) override {}
  void Close(const cluster::CloseAllocation&) override {}
  void Changed(const model::TaskId&) override {}
  void Changed(model::ExperimentId) override {}
  void QueueChanged() override {}
};

}  // namespace det::engine

#endif  // MASTER_ENGINE_TESTING_NULL_SINK_H_
