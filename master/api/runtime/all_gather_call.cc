#include "master/api/runtime/all_gather_call.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <grpcpp/grpcpp.h>

namespace det::api {
namespace {

namespace trial = det::trial::v1;

// Deletes itself.
class GatherCall final : public grpc::ServerUnaryReactor {
 public:
  GatherCall(AllGather* all_gather, trial::AllGatherResponse* response)
      : all_gather_(all_gather), response_(response) {}

  void Join(const trial::AllGatherRequest& request) {
    const model::AllocationId allocation(request.allocation_id());
    // Held until both the answer and the ticket are dealt with: the answer may come first.
    auto place = place_;
    place->allocation = allocation;
    const int64_t ticket = all_gather_->Join(
        allocation, request.key(), request.rank(), request.num_peers(), request.data(),
        [this](const absl::StatusOr<std::vector<std::string>>& everything) {
          if (everything.ok()) {
            for (const std::string& data : *everything) response_->add_data(data);
          }
          Finish(ToGrpc(everything.status()));
        });
    std::unique_lock lock(place->mutex);
    place->ticket = ticket;
    const bool gone = place->gone;
    lock.unlock();
    if (gone) place->all_gather->Abandon(allocation, ticket);
  }
  void OnCancel() override {
    std::unique_lock lock(place_->mutex);
    place_->gone = true;
    const std::optional<int64_t> ticket = place_->ticket;
    lock.unlock();
    if (ticket) all_gather_->Abandon(place_->allocation, *ticket);
  }
  void OnDone() override { delete this; }

 private:
  struct Place {
    AllGather* all_gather;
    model::AllocationId allocation;
    std::mutex mutex;
    std::optional<int64_t> ticket;
    bool gone = false;
  };
  AllGather* const all_gather_;
  trial::AllGatherResponse* const response_;
  const std::shared_ptr<Place> place_{new Place{.all_gather = all_gather_}};
};

}  // namespace

grpc::ServerUnaryReactor* JoinGather(AllGather* all_gather, const trial::AllGatherRequest* request,
                                     trial::AllGatherResponse* response,
                                     absl::AnyInvocable<void(Done)> admit) {
  auto* const call = new GatherCall(all_gather, response);
  admit([call, request](const absl::Status& status) {
    if (!status.ok()) return call->Finish(ToGrpc(status));
    call->Join(*request);
  });
  return call;
}

}  // namespace det::api
