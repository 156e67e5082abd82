// The nodes of a pool by their free slots of some devices: what a fit looks into. One view for each
// set of devices that waiting gangs can use, mostly one for all.
//
// Owned by PoolState, which keeps it true. PURE.
#ifndef MASTER_CORE_SCHEDULER_VIEW_H_
#define MASTER_CORE_SCHEDULER_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "master/core/scheduler/node_set.h"

namespace det::scheduler {

class View {
 public:
  // Nodes of one number of slots.
  struct Group {
    int capacity = 0;
    int nodes = 0;
    std::vector<NodeSet> by_free;
  };

  // `devices[i]`: whether it counts slots of device i. Every node is closed at first.
  View(std::vector<bool> devices, int nodes, int switches);

  bool Matches(int device) const { return devices_[static_cast<size_t>(device)]; }
  const std::vector<bool>& devices() const { return devices_; }

  // What an open node has in all, and free of it.
  void Set(int rank, int network_switch, int capacity, int free);
  // A node that takes no work is in no group, and has no slots here.
  void Close(int rank, int network_switch);

  int free(int rank) const { return free_[static_cast<size_t>(rank)]; }
  int capacity(int rank) const { return capacity_[static_cast<size_t>(rank)]; }
  int64_t total_free() const { return total_free_; }
  int64_t total_capacity() const { return total_capacity_; }

  // By capacity, ascending; some may have no node any more.
  const std::vector<Group>& groups() const { return groups_; }
  // How many nodes have exactly so many free.
  int CountWithFree(int free) const {
    return static_cast<size_t>(free) < counts_.size() ? counts_[static_cast<size_t>(free)] : 0;
  }
  // The first node from `rank` on that has exactly so many free; -1: none.
  int NextWithFree(int free, int rank) const;
  // The largest free part of a node, at most `below`.
  int LargestFree(int below) const;
  // By free slots: how many nodes below a switch have so many.
  const std::vector<int>& OfSwitch(int network_switch) const {
    return of_switch_[static_cast<size_t>(network_switch)];
  }

 private:
  void Insert(int rank, int network_switch, int capacity, int free);
  Group& GroupOf(int capacity);

  std::vector<bool> devices_;
  std::vector<int> free_;
  std::vector<int> capacity_;  // -1: closed
  std::vector<Group> groups_;
  std::vector<int> counts_;
  std::vector<std::vector<int>> of_switch_;
  int64_t total_free_ = 0;
  int64_t total_capacity_ = 0;
};

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_VIEW_H_
