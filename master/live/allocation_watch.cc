#include "master/live/allocation_watch.h"

#include <utility>

#include "master/api/common/convert.h"

namespace det::live {

using det::trial::v1::AllocationUpdate;

AllocationUpdate ToUpdate(const cluster::AnnounceRendezvous& news) {
  AllocationUpdate update;
  update.mutable_rendezvous();
  for (const cluster::RendezvousNode& node : news.nodes) {
    auto* out = update.mutable_rendezvous()->add_nodes();
    out->set_agent_id(node.agent.value());
    out->set_address(node.address);
    out->set_slots(node.slots);
  }
  return update;
}

AllocationUpdate ToUpdate(const cluster::AnnouncePreemption& news) {
  AllocationUpdate update;
  update.mutable_preemption()->set_reason(news.reason);
  *update.mutable_preemption()->mutable_deadline() = api::ToProto(news.deadline);
  return update;
}

AllocationWatch::AllocationWatch(std::function<void(const model::AllocationId&)> on_close)
    : on_close_(std::move(on_close)) {}

void AllocationWatch::Announce(const cluster::AnnounceRendezvous& news) {
  Tell(news.allocation, ToUpdate(news));
}

void AllocationWatch::Announce(const cluster::AnnouncePreemption& news) {
  Tell(news.allocation, ToUpdate(news));
}

void AllocationWatch::Tell(const model::AllocationId& allocation, const AllocationUpdate& update) {
  std::lock_guard lock(mutex_);
  const auto it = listeners_.find(allocation);
  if (it == listeners_.end()) return;
  for (const auto& [id, listener] : it->second) listener.update(update);
}

void AllocationWatch::Close(const cluster::CloseAllocation& news) {
  {
    std::lock_guard lock(mutex_);
    const auto it = listeners_.find(news.allocation);
    if (it != listeners_.end()) {
      for (const auto& [id, listener] : it->second) listener.closed();
    }
  }
  on_close_(news.allocation);
}

int64_t AllocationWatch::Subscribe(const model::AllocationId& allocation,
                                   AllocationListener listener) {
  std::lock_guard lock(mutex_);
  if (stopped_ && listener.stopping) listener.stopping();
  listeners_[allocation].emplace(++last_, std::move(listener));
  return last_;
}

void AllocationWatch::Stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  for (const auto& [allocation, listeners] : listeners_) {
    for (const auto& [id, listener] : listeners) {
      if (listener.stopping) listener.stopping();
    }
  }
}

void AllocationWatch::Unsubscribe(const model::AllocationId& allocation, int64_t id) {
  std::lock_guard lock(mutex_);
  const auto it = listeners_.find(allocation);
  if (it == listeners_.end()) return;
  it->second.erase(id);
  if (it->second.empty()) listeners_.erase(it);
}

}  // namespace det::live
