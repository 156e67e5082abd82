// AllGather: the ranks of an allocation hand in their data under a key and all receive everybody's.
// In memory: after a restart of the master the ranks call again.
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
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "master/core/model/ids.h"

namespace det::api {

class AllGather {
 public:
  using Reply = absl::AnyInvocable<void(absl::StatusOr<std::vector<std::string>>)>;

  // Replies once `num_peers` ranks have come; a rank that comes again takes the place of its first
  // call, which ends with ABORTED. A call for a group that is complete is answered at once.
  // INVALID_ARGUMENT for a rank outside [0, num_peers) or another num_peers than the others'.
  // Returns the ticket for Abandon().
  int64_t Join(const model::AllocationId& allocation, const std::string& key, int rank,
               int num_peers, std::string data, Reply reply);

  // The caller has gone: its place is free again. Unknown tickets are ignored.
  void Abandon(const model::AllocationId& allocation, int64_t ticket);

  // The allocation has ended: everybody who waits gets ABORTED.
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
    // For ranks whose answer got lost; only the last few.
    std::deque<std::pair<std::string, std::vector<std::string>>> complete;
  };

  std::mutex mutex_;
  int64_t last_ticket_ = 0;
  std::map<model::AllocationId, Session> sessions_;
};

}  // namespace det::api

#endif  // MASTER_API_RUNTIME_ALL_GATHER_H_
