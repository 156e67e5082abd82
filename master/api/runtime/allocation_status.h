// The status of the allocation whose task makes a call, and long polls for its updates.
//
// Call these functions on the pool. Callbacks run on the pool.
#ifndef MASTER_API_RUNTIME_ALLOCATION_STATUS_H_
#define MASTER_API_RUNTIME_ALLOCATION_STATUS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/event_loop.h"
#include "base/thread_pool.h"
#include "det/trial/v1/trial.pb.h"
#include "master/api/rpc/call.h"
#include "master/auth/permissions.h"
#include "master/core/model/ids.h"
#include "master/engine/engine.h"
#include "master/live/allocation_watch.h"

namespace det::api {

struct AllocationStatus {
  bool live = false;
  model::TrialId trial;
  model::ExperimentId experiment;
  int run_id = 0;
  // The values that the trial has reported last.
  double progress = 0;
  std::string runner_state;
  // The updates that were announced before: the rendezvous and the preemption, if any.
  std::vector<det::trial::v1::AllocationUpdate> updates;
};

// Returns PERMISSION_DENIED unless the caller's token belongs to this allocation.
absl::Status CheckOwnAllocation(const auth::Principal& principal, const std::string& allocation);

// Calls `then` with the status of `allocation`, or FAILED_PRECONDITION if it has ended.
void GetAllocationStatus(engine::Engine& engine, base::ThreadPool& pool,
                         const model::AllocationId& allocation,
                         absl::AnyInvocable<void(absl::StatusOr<AllocationStatus>)> then);

// Calls `done` once: with the first update of this kind, also one that was announced before; with
// nullopt if there is none within `timeout`; with FAILED_PRECONDITION if the allocation has ended,
// CANCELLED if the client disconnects, UNAVAILABLE if the master shuts down.
using OptionalUpdate = std::optional<det::trial::v1::AllocationUpdate>;
void AwaitUpdate(engine::Engine& engine, base::ThreadPool& pool, base::EventLoop& loop,
                 live::AllocationWatch& watch, const model::AllocationId& allocation,
                 det::trial::v1::AllocationUpdate::UpdateCase kind, absl::Duration timeout,
                 Call& call, absl::AnyInvocable<void(absl::StatusOr<OptionalUpdate>)> done);

}  // namespace det::api

#endif  // MASTER_API_RUNTIME_ALLOCATION_STATUS_H_
