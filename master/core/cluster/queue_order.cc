#include "master/core/cluster/queue_order.h"

#include <cmath>
#include <iterator>

namespace det::cluster {

void QueueOrder::Put(const model::JobId& id, const experiment::QueuePlace& place) {
  Remove(id);
  const Key key(place.resource_pool, place.priority);
  peers_[key].emplace(place.position, id);
  spots_[id] = {key, place.position};
}

void QueueOrder::Remove(const model::JobId& id) {
  const auto spot = spots_.find(id);
  if (spot == spots_.end()) return;
  const auto peers = peers_.find(spot->second.key);
  peers->second.erase({spot->second.position, id});
  if (peers->second.empty()) peers_.erase(peers);
  spots_.erase(spot);
}

const QueueOrder::Peers& QueueOrder::GetPeers(const experiment::QueuePlace& place) const {
  static const Peers& none = *new Peers;
  const auto peers = peers_.find({place.resource_pool, place.priority});
  return peers == peers_.end() ? none : peers->second;
}

std::optional<double> QueueOrder::Beside(const model::JobId& id, bool ahead) const {
  const Spot& spot = spots_.at(id);
  const Peers& peers = peers_.at(spot.key);
  const auto it = peers.find({spot.position, id});
  const double at = spot.position;
  if (ahead && it == peers.begin()) return at - 1;
  // Behind the last job: below the next whole number, which may be the position of a later job.
  const double next = std::next(it) != peers.end() ? std::next(it)->first : std::floor(at) + 1;
  const double low = ahead ? std::prev(it)->first : at;
  const double high = ahead ? at : next;
  const double between = low + (high - low) / 2;
  if (low < between && between < high) return between;
  return std::nullopt;
}

}  // namespace det::cluster
