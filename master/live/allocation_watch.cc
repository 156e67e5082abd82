#include "master/live/allocation_watch.h"

#include <utility>

#include "master/api/common/convert.h"

namespace det::live {

using det::trial::v1::AllocationUpdate;

AllocationUpdate ToUpdate(const cluster::AnnounceRendezvous& rendezvous) {
  AllocationUpdate update;
  update.mutable_rendezvous();
  for (const cluster::RendezvousNode& node : rendezvous.nodes) {
    auto* out = update.mutable_rendezvous()->add_nodes();
    out->set_agent_id(node.agent.value());
    out->set_address(node.address);
    out->set_slots(node.slots);
  }
  return update;
}

AllocationUpdate ToUpdate(const cluster::AnnouncePreemption& preemption) {
  AllocationUpdate update;
  update.mutable_preemption()->set_reason(preemption.reason);
  *update.mutable_preemption()->mutable_deadline() = api::ToProto(preemption.deadline);
  return update;
}

AllocationWatch::AllocationWatch(std::function<void(const model::AllocationId&)> on_close)
    : on_close_(std::move(on_close)) {}

void AllocationWatch::Announce(const cluster::AnnounceRendezvous& rendezvous) {
  Notify(rendezvous.allocation, ToUpdate(rendezvous));
}

void AllocationWatch::Announce(const cluster::AnnouncePreemption& preemption) {
  Notify(preemption.allocation, ToUpdate(preemption));
}

void AllocationWatch::Notify(const model::AllocationId& allocation,
                             const AllocationUpdate& update) {
  std::lock_guard lock(mutex_);
  const auto it = listeners_.find(allocation);
  if (it == listeners_.end()) return;
  for (const auto& [id, listener] : it->second) listener.update(update);
}

void AllocationWatch::Close(const cluster::CloseAllocation& closed) {
  {
    std::lock_guard lock(mutex_);
    const auto it = listeners_.find(closed.allocation);
    if (it != listeners_.end()) {
      for (const auto& [id, listener] : it->second) listener.closed();
    }
  }
  on_close_(closed.allocation);
}

int64_t AllocationWatch::Subscribe(const model::AllocationId& allocation,
                                   AllocationListener listener) {
  std::lock_guard lock(mutex_);
  if (stopped_ && listener.stopping) listener.stopping();
  listeners_[allocation].emplace(++last_id_, std::move(listener));
  return last_id_;
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
