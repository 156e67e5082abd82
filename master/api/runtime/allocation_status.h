// What the cluster knows of an allocation whose task is calling, and the news that a task waits
// for.
//
// Asked on the pool; the answers come on the pool.
#ifndef MASTER_API_RUNTIME_ALLOCATION_STATUS_H_
#define MASTER_API_RUNTIME_ALLOCATION_STATUS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "det/trial/v1/trial.pb.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/edge.h"
#include "master/auth/permissions.h"
#include "master/core/model/ids.h"
#include "master/live/allocation_watch.h"

namespace det::api {

struct Standing {
  bool live = false;
  model::TrialId trial;
  model::ExperimentId experiment;
  int run_id = 0;
  // Of the trial, as it told last.
  double progress = 0;
  std::string runner_state;
  std::vector<det::trial::v1::AllocationUpdate> news;  // that it should have heard already
};

// PERMISSION_DENIED unless the caller's token is that of this allocation.
absl::Status CheckOwn(const auth::Principal& principal, const std::string& allocation);

// FAILED_PRECONDITION when it has ended.
void WithStanding(const Edge& edge, const model::AllocationId& allocation,
                  absl::AnyInvocable<void(absl::StatusOr<Standing>)> then);

// Answers once: with the first update of this kind, also one that should have been heard already;
// with nullopt when there is none within `limit`; FAILED_PRECONDITION when the allocation has
// ended; CANCELLED when the caller has gone.
using News = std::optional<det::trial::v1::AllocationUpdate>;
void AwaitNews(const Edge& edge, live::AllocationWatch& watch,
               const model::AllocationId& allocation,
               det::trial::v1::AllocationUpdate::UpdateCase kind, absl::Duration limit,
               Departure& departure, absl::AnyInvocable<void(absl::StatusOr<News>)> answer);

}  // namespace det::api

#endif  // MASTER_API_RUNTIME_ALLOCATION_STATUS_H_
