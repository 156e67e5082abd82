// The nodes of a pool by their free slots of some devices; the index for fits. There is one view
// for each set of devices that waiting gangs can use, usually one for all.
//
// Owned by PoolState, which keeps it up to date. PURE.
#ifndef MASTER_CORE_SCHEDULER_VIEW_H_
#define MASTER_CORE_SCHEDULER_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "master/core/scheduler/node_set.h"

namespace det::scheduler {

class View {
 public:
  // The nodes with the same number of slots.
  struct Group {
    int capacity = 0;
    int nodes = 0;
    std::vector<NodeSet> by_free;
  };

  // `devices[i]` is whether the view counts slots of device i. Initially every node is closed.
  View(std::vector<bool> devices, int nodes, int switches);

  bool Matches(int device) const { return devices_[static_cast<size_t>(device)]; }
  const std::vector<bool>& devices() const { return devices_; }

  // Sets the total and the free slots of an open node.
  void Set(int rank, int network_switch, int capacity, int free);
  // Closes a node that accepts no work: it is in no group and has no slots.
  void Close(int rank, int network_switch);

  int free(int rank) const { return free_[static_cast<size_t>(rank)]; }
  int capacity(int rank) const { return capacity_[static_cast<size_t>(rank)]; }
  int64_t total_free() const { return total_free_; }
  int64_t total_capacity() const { return total_capacity_; }

  // The groups by ascending capacity; some may be empty.
  const std::vector<Group>& groups() const { return groups_; }
  // Returns how many nodes have exactly `free` free slots.
  int CountWithFree(int free) const {
    return static_cast<size_t>(free) < counts_.size() ? counts_[static_cast<size_t>(free)] : 0;
  }
  // Returns the first node from `rank` on with exactly `free` free slots; -1 if none.
  int NextWithFree(int free, int rank) const;
  // Returns the largest number of free slots of a node that is at most `below`.
  int LargestFree(int below) const;
  // Returns the number of nodes of a switch, by free slots.
  const std::vector<int>& GetSwitchCounts(int network_switch) const {
    return switch_counts_[static_cast<size_t>(network_switch)];
  }

 private:
  void Insert(int rank, int network_switch, int capacity, int free);
  Group& GetGroup(int capacity);

  std::vector<bool> devices_;
  std::vector<int> free_;
  std::vector<int> capacity_;  // -1: closed
  std::vector<Group> groups_;
  std::vector<int> counts_;
  std::vector<std::vector<int>> switch_counts_;
  int64_t total_free_ = 0;
  int64_t total_capacity_ = 0;
};

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_VIEW_H_
