#include "master/core/scheduler/view.h"

#include <algorithm>
#include <utility>

namespace det::scheduler {

View::View(std::vector<bool> devices, int nodes, int switches)
    : devices_(std::move(devices)),
      free_(static_cast<size_t>(nodes), 0),
      capacity_(static_cast<size_t>(nodes), -1),
      switch_counts_(switches > 1 ? static_cast<size_t>(switches) : 0) {}

View::Group& View::GetGroup(int capacity) {
  const auto at = std::lower_bound(
      groups_.begin(), groups_.end(), capacity,
      [](const Group& group, int requested) { return group.capacity < requested; });
  if (at != groups_.end() && at->capacity == capacity) return *at;
  const auto size = static_cast<size_t>(capacity) + 1;
  if (counts_.size() < size) {
    counts_.resize(size);
    for (std::vector<int>& counts : switch_counts_) counts.resize(size);
  }
  return *groups_.insert(
      at, Group{capacity, 0, std::vector<NodeSet>(size, NodeSet(static_cast<int>(free_.size())))});
}

void View::Insert(int rank, int network_switch, int capacity, int free) {
  const auto f = static_cast<size_t>(free);
  Group& group = GetGroup(capacity);
  group.by_free[f].Insert(rank);
  ++group.nodes;
  ++counts_[f];
  if (!switch_counts_.empty()) ++switch_counts_[static_cast<size_t>(network_switch)][f];
  capacity_[static_cast<size_t>(rank)] = capacity;
  free_[static_cast<size_t>(rank)] = free;
  total_free_ += free;
  total_capacity_ += capacity;
}

void View::Set(int rank, int network_switch, int capacity, int free) {
  if (capacity_[static_cast<size_t>(rank)] == capacity && this->free(rank) == free) return;
  Close(rank, network_switch);
  Insert(rank, network_switch, capacity, free);
}

void View::Close(int rank, int network_switch) {
  int& capacity = capacity_[static_cast<size_t>(rank)];
  if (capacity < 0) return;
  int& free = free_[static_cast<size_t>(rank)];
  const auto f = static_cast<size_t>(free);
  Group& group = GetGroup(capacity);
  group.by_free[f].Erase(rank);
  --group.nodes;
  --counts_[f];
  if (!switch_counts_.empty()) --switch_counts_[static_cast<size_t>(network_switch)][f];
  total_free_ -= free;
  total_capacity_ -= capacity;
  capacity = -1;
  free = 0;
}

int View::NextWithFree(int free, int rank) const {
  int next = -1;
  for (const Group& group : groups_) {
    if (group.capacity < free) continue;
    const int found = group.by_free[static_cast<size_t>(free)].Next(rank);
    if (found >= 0 && (next < 0 || found < next)) next = found;
  }
  return next;
}

int View::LargestFree(int below) const {
  for (int free = std::min(below, static_cast<int>(counts_.size()) - 1); free > 0; --free) {
    if (counts_[static_cast<size_t>(free)] > 0) return free;
  }
  return 0;
}

}  // namespace det::scheduler
