// What the methods for an allocation share. An allocation's token may act for itself; a user's for
// every allocation whose experiment the user may edit.
//
// Call these functions on the pool. Callbacks run on the pool, except where stated.
#ifndef MASTER_API_RUNTIME_ALLOCATION_CALLS_H_
#define MASTER_API_RUNTIME_ALLOCATION_CALLS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/event_loop.h"
#include "base/thread_pool.h"
#include "det/api/v1/task_runtime.pb.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "google/protobuf/struct.pb.h"
#include "master/api/rpc/call.h"
#include "master/api/runtime/all_gather.h"
#include "master/auth/permissions.h"
#include "master/engine/engine.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// Returns PERMISSION_DENIED for the token of another allocation, and INVALID_ARGUMENT for an ID
// that cannot be one.
absl::Status CheckAllocation(const auth::Principal& principal, const std::string& allocation);

// Whether the allocation belongs to a trial that runs outside of the cluster: it is never
// preempted.
bool RunsOutside(store::Store& store, const std::string& allocation);

// Calls `done` after `timeout`, or with CANCELLED when the client disconnects.
void WaitFor(base::EventLoop& loop, absl::Duration timeout, Call& call, Done done);

// Calls `done` with OK if the allocation is live. It gets NOT_FOUND otherwise; an allocation's own
// token gets FAILED_PRECONDITION, because the allocation has ended.
void CheckLive(engine::Engine& engine, base::ThreadPool& pool, const auth::Principal& principal,
               const std::string& allocation, Done done);

// Adds the data of all peers to `out` once `num_peers` processes of the allocation have called.
// `done` runs on the thread of the last one's call.
void GatherFromPeers(AllGather& all_gather, Call& call, const std::string& allocation,
                     const std::string& request_uuid, int num_peers,
                     const google::protobuf::Struct& data,
                     google::protobuf::RepeatedPtrField<google::protobuf::Struct>* out, Done done);

// Adds the devices of the slots that the task's allocations have used.
void ReadAccelerators(engine::Engine& engine, base::ThreadPool& pool, store::Store& store,
                      const std::string& task, v1::GetTaskAcceleratorDataResponse* response,
                      Done done);

}  // namespace det::api

#endif  // MASTER_API_RUNTIME_ALLOCATION_CALLS_H_
