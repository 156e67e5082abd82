// What only memory knows of running things: which trials have slots, why the others wait.
//
// ReadLive may be called on any thread; its answer comes on the pool, after everything it shows is
// durable.
#ifndef MASTER_SERVICE_LIVE_H_
#define MASTER_SERVICE_LIVE_H_

#include <map>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "master/model/ids.h"
#include "master/model/states.h"
#include "master/service/edge.h"

namespace det::service {

struct LiveTrial {
  model::ExperimentId experiment;
  model::AllocationId allocation;
  model::AllocationState state = model::AllocationState::kQueued;
  std::string wait_reason;  // of a queued one
};
using LiveTrials = std::map<model::TrialId, LiveTrial>;

// Of one experiment, or of all.
void ReadLive(const Edge& edge, std::optional<model::ExperimentId> experiment,
              absl::AnyInvocable<void(absl::StatusOr<LiveTrials>)> then);

}  // namespace det::service

#endif  // MASTER_SERVICE_LIVE_H_
