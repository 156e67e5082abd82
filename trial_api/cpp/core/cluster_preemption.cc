#include "trial_api/cpp/core/cluster_preemption.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace det::core {
namespace {

class ClusterPreemption final : public Preemption {
 public:
  ClusterPreemption(std::shared_ptr<TrialClient> client,
                    std::function<void(const std::string& why)> on_over)
      : client_(std::move(client)) {
    TrialClient::Listener listener;
    listener.on_end = std::move(on_over);
    listener.on_preemption = [this](const std::string&) { requested_ = true; };
    watch_ = client_->WatchAllocation(std::move(listener));
  }

  bool Requested() const override { return requested_.load(std::memory_order_relaxed); }
  void Acknowledge() override { client_->AckPreemption(); }

 private:
  const std::shared_ptr<TrialClient> client_;
  std::atomic<bool> requested_ = false;
  std::unique_ptr<AllocationWatch> watch_;  // must be last, because it writes requested_
};

class NoPreemption final : public Preemption {
 public:
  bool Requested() const override { return false; }
  void Acknowledge() override {}
};

}  // namespace

std::unique_ptr<Preemption> MakeClusterPreemption(
    std::shared_ptr<TrialClient> client, std::function<void(const std::string& why)> on_over) {
  return std::make_unique<ClusterPreemption>(std::move(client), std::move(on_over));
}

std::unique_ptr<Preemption> MakeNoPreemption() { return std::make_unique<NoPreemption>(); }

}  // namespace det::core
