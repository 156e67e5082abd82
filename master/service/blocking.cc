#include "master/service/blocking.h"

#include <future>
#include <memory>
#include <utility>

namespace det::service {

absl::Status QueryNow(const Edge& edge, absl::FunctionRef<void(const cluster::Cluster&)> read) {
  // Shared: the waiter may be gone before set_value has returned.
  auto answered = std::make_shared<std::promise<absl::Status>>();
  std::future<absl::Status> future = answered->get_future();
  edge.engine->Query([read](const cluster::Cluster& cluster) { read(cluster); },
                     [answered](absl::Status status) { answered->set_value(std::move(status)); });
  return future.get();
}

absl::Status SubmitNow(const Edge& edge, cluster::Event event) {
  auto answered = std::make_shared<std::promise<absl::Status>>();
  std::future<absl::Status> future = answered->get_future();
  edge.engine->Submit(std::move(event), [answered](const absl::StatusOr<engine::Applied>& applied) {
    answered->set_value(applied.status());
  });
  return future.get();
}

}  // namespace det::service
