// What only memory knows of running things: which trials have slots, why the others wait.
//
// ReadLive may be called on any thread; its answer comes on the pool, after everything it shows is
// durable.
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
  std::string wait_reason;  // of a queued one
};
using LiveTrials = std::map<model::TrialId, LiveTrial>;

// Of one experiment, or of all.
void ReadLive(engine::Engine& engine, base::ThreadPool& pool,
              std::optional<model::ExperimentId> experiment,
              absl::AnyInvocable<void(absl::StatusOr<LiveTrials>)> then);

}  // namespace det::api

#endif  // MASTER_API_COMMON_LIVE_TRIALS_H_
