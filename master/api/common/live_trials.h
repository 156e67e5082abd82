// Reads the state of running trials that exists only in memory: which trials hold slots, and why
// the others wait. QueryLiveTrials may be called on any thread. Its callback runs on the pool,
// after all state that it shows is durable.
#ifndef MASTER_API_COMMON_LIVE_TRIALS_H_
#define MASTER_API_COMMON_LIVE_TRIALS_H_

#include <map>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "master/core/model/ids.h"
#include "master/core/model/states.h"
#include "master/engine/engine.h"

namespace det::api {

struct LiveTrial {
  model::ExperimentId experiment;
  model::AllocationId allocation;
  model::AllocationState state = model::AllocationState::kQueued;
  std::string wait_reason;  // set if queued
};
using LiveTrials = std::map<model::TrialId, LiveTrial>;

// Reads the live trials of one experiment, or of all; `then` runs on the pool. `read`, which may be
// null, is called with the cluster, too, on the engine's loop.
void QueryLiveTrials(engine::Engine& engine, base::ThreadPool& pool,
                     std::optional<model::ExperimentId> experiment,
                     absl::AnyInvocable<void(absl::StatusOr<LiveTrials>)> then,
                     absl::AnyInvocable<void(const cluster::Cluster&)> read = nullptr);

}  // namespace det::api

#endif  // MASTER_API_COMMON_LIVE_TRIALS_H_
