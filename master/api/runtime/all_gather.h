// AllGather: each rank of an allocation submits data under a key, and all ranks receive the data of
// all ranks. The data is in memory only: after a restart of the master the ranks call again.
//
// Any thread. Replies run on the thread of the call that completed the group, outside the lock.
#ifndef MASTER_API_RUNTIME_ALL_GATHER_H_
#define MASTER_API_RUNTIME_ALL_GATHER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "det/trial/v1/trial.pb.h"
#include "master/api/rpc/call.h"
#include "master/core/model/ids.h"

namespace det::api {

class AllGather {
 public:
  using Reply = absl::AnyInvocable<void(absl::StatusOr<std::vector<std::string>>)>;

  // Replies once `num_peers` ranks have joined. If a rank joins again, its earlier call ends with
  // ABORTED. A call for a group that is complete gets its reply at once. Replies INVALID_ARGUMENT
  // for a rank outside [0, num_peers) or if `num_peers` differs from that of the other ranks.
  // Returns the ticket for Abandon().
  int64_t Join(const model::AllocationId& allocation, const std::string& key, int rank,
               int num_peers, std::string data, Reply reply);

  // Like Join() for processes that have names instead of ranks, in the order of their first calls.
  // Once `num_peers` processes have joined, the next name begins a new group. A process that
  // repeats its call gets the same reply.
  int64_t JoinByName(const model::AllocationId& allocation, const std::string& name, int num_peers,
                     std::string data, Reply reply);

  // Removes the rank of a caller that has disconnected; it may join again. Ignores unknown tickets.
  void Abandon(const model::AllocationId& allocation, int64_t ticket);

  // The allocation has ended: all waiting calls end with ABORTED.
  void Close(const model::AllocationId& allocation);

 private:
  struct Member {
    int64_t ticket = 0;
    std::string data;
    Reply reply;
  };
  struct Group {
    int num_peers = 0;
    std::map<int, Member> members;  // by rank
  };
  struct Session {
    std::map<std::string, Group> open;
    // The last kMaxCompleted groups, for ranks that did not receive their reply.
    std::deque<std::pair<std::string, std::vector<std::string>>> complete;
    // The group and the rank of each process that has a name.
    std::map<std::string, std::pair<int, int>> names;
    int last_group = 0;
    int num_named = 0;  // in the last group
  };

  std::mutex mutex_;
  int64_t last_ticket_ = 0;
  std::map<model::AllocationId, Session> sessions_;
};

// Calls `join` with `reply`, on behalf of a call: if the client disconnects, it leaves. `join`
// returns the ticket of AllGather.
void WaitForPeers(AllGather& all_gather, Call& call, const model::AllocationId& allocation,
                  absl::FunctionRef<int64_t(AllGather::Reply)> join, AllGather::Reply reply);

// Joins on behalf of a call and finishes it with `done` once all ranks have joined. If the client
// disconnects, its rank leaves. All arguments must stay valid until the call has finished.
void JoinAllGather(AllGather& all_gather, Call& call,
                   const det::trial::v1::AllGatherRequest& request,
                   det::trial::v1::AllGatherResponse* response, Done done);

}  // namespace det::api

#endif  // MASTER_API_RUNTIME_ALL_GATHER_H_
