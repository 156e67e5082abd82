#include "master/store/interfaces/store.h"

#include <future>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace det::store {
namespace {

// Starts an operation and waits until it calls its Done.
absl::Status Await(absl::FunctionRef<void(Store::Done done)> start) {
  std::promise<absl::Status> result;
  start([&result](absl::Status status) { result.set_value(std::move(status)); });
  return result.get_future().get();
}

}  // namespace

absl::Status Store::AddMetrics(std::vector<model::MetricReport> reports) {
  return Await([&](Done done) { AddMetrics(std::move(reports), std::move(done)); });
}

absl::Status Store::AddLogLines(std::vector<model::LogLine> lines) {
  return Await([&](Done done) { AddLogLines(std::move(lines), std::move(done)); });
}

absl::StatusOr<StoredReport> Detached::AddMetrics(model::TrialId id, int run_id,
                                                  std::vector<model::MetricReport> reports) {
  std::promise<absl::StatusOr<StoredReport>> result;
  AddMetrics(id, run_id, std::move(reports), [&result](absl::StatusOr<StoredReport> stored) {
    result.set_value(std::move(stored));
  });
  return result.get_future().get();
}

}  // namespace det::store
