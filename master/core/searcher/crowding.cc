#include "master/core/searcher/crowding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace det::searcher {
namespace {

// Returns the crowding distance of each point of a front.
std::vector<double> ComputeCrowdingDistances(const std::vector<const Losses*>& points,
                                             const std::vector<size_t>& front) {
  std::vector<double> room(front.size(), 0);
  std::vector<size_t> order(front.size());
  const size_t objectives = points[front.front()]->size();
  for (size_t objective = 0; objective < objectives; ++objective) {
    const auto loss = [&](size_t i) { return (*points[front[i]])[objective]; };
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return loss(a) < loss(b); });
    room[order.front()] = room[order.back()] = std::numeric_limits<double>::infinity();
    const double range = loss(order.back()) - loss(order.front());
    // Handles losses that overflow or are infinite as well.
    if (!(range > 0) || !std::isfinite(range)) continue;
    for (size_t i = 1; i + 1 < order.size(); ++i) {
      room[order[i]] += (loss(order[i + 1]) - loss(order[i - 1])) / range;
    }
  }
  return room;
}

}  // namespace

std::vector<size_t> ParetoOrder(const std::vector<const Losses*>& points) {
  std::vector<Losses> values;
  for (const Losses* losses : points) values.push_back(*losses);
  const std::vector<int64_t> ranks = Ranks(values);
  std::map<int64_t, std::vector<size_t>> fronts;
  for (size_t i = 0; i < ranks.size(); ++i) fronts[ranks[i]].push_back(i);
  std::vector<size_t> order;
  for (const auto& [rank, front] : fronts) {
    const std::vector<double> room = ComputeCrowdingDistances(points, front);
    std::vector<size_t> by_room(front.size());
    std::iota(by_room.begin(), by_room.end(), size_t{0});
    std::stable_sort(by_room.begin(), by_room.end(),
                     [&room](size_t a, size_t b) { return room[a] > room[b]; });
    for (const size_t i : by_room) order.push_back(front[i]);
  }
  return order;
}

}  // namespace det::searcher
