#include "master/api/runtime/all_gather_call.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace det::api {

void JoinAllGather(AllGather& all_gather, Call& call,
                   const det::trial::v1::AllGatherRequest& request,
                   det::trial::v1::AllGatherResponse* response, Done done) {
  // The caller may disconnect before Join() has returned the ticket.
  struct Place {
    std::mutex mutex;
    std::optional<int64_t> ticket;
    bool canceled = false;
  };
  const auto place = std::make_shared<Place>();
  const model::AllocationId allocation(request.allocation_id());
  call.OnCancel([&all_gather, allocation, place] {
    std::unique_lock lock(place->mutex);
    place->canceled = true;
    const std::optional<int64_t> ticket = place->ticket;
    lock.unlock();
    if (ticket) all_gather.Abandon(allocation, *ticket);
  });
  // The call may end before Join() returns: nothing of it may be used afterwards.
  auto shared_done = std::make_shared<Done>(std::move(done));
  const int64_t ticket = all_gather.Join(
      allocation, request.key(), request.rank(), request.num_peers(), request.data(),
      [response, shared_done](const absl::StatusOr<std::vector<std::string>>& everything) {
        if (everything.ok()) {
          for (const std::string& data : *everything) response->add_data(data);
        }
        (*shared_done)(everything.status());
      });
  std::unique_lock lock(place->mutex);
  place->ticket = ticket;
  const bool canceled = place->canceled;
  lock.unlock();
  if (canceled) all_gather.Abandon(allocation, ticket);
}

}  // namespace det::api
