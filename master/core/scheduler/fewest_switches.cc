#include "master/core/scheduler/fewest_switches.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

namespace det::scheduler {
namespace {

constexpr int kMaxSteps = 256;

// Returns what the largest `nodes` nodes hold together.
int64_t Largest(const NodesBySize& counts, int nodes) {
  int64_t sum = 0;
  for (size_t size = counts.size(); size-- > 1 && nodes > 0;) {
    const int taken = std::min(counts[size], nodes);
    sum += static_cast<int64_t>(size) * taken;
    nodes -= taken;
  }
  return sum;
}

int64_t Sum(const NodesBySize& counts) {
  int64_t sum = 0;
  for (size_t size = 0; size < counts.size(); ++size) {
    sum += static_cast<int64_t>(size) * counts[size];
  }
  return sum;
}

void Add(const NodesBySize& counts, NodesBySize& together) {
  if (together.size() < counts.size()) together.resize(counts.size());
  for (size_t size = 0; size < counts.size(); ++size) together[size] += counts[size];
}

// The search over several switches.
class Search {
 public:
  Search(const std::vector<const NodesBySize*>& switches, int nodes, int slots)
      : switches_(switches), nodes_(nodes), slots_(slots), order_(switches.size()) {
    for (const NodesBySize* each : switches) largest_.push_back(Largest(*each, nodes));
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(), [&](int a, int b) {
      return GetLargest(a) != GetLargest(b) ? GetLargest(a) > GetLargest(b) : a < b;
    });
  }

  std::vector<int> Fewest() {
    const std::vector<int> greedy = Greedy();
    for (size_t count = 2; count < greedy.size() && steps_ < kMaxSteps; ++count) {
      chosen_.clear();
      if (Choose(0, count, {})) return chosen_;
    }
    return greedy;
  }

 private:
  int64_t GetLargest(int s) const { return largest_[static_cast<size_t>(s)]; }
  const NodesBySize& GetCounts(int s) const { return *switches_[static_cast<size_t>(s)]; }

  std::vector<int> Greedy() const {
    std::vector<int> chosen;
    NodesBySize together;
    for (const int s : order_) {
      chosen.push_back(s);
      Add(GetCounts(s), together);
      if (Largest(together, nodes_) >= slots_) break;
    }
    return chosen;
  }

  // Whether `left` more switches from `first` on suffice together with the chosen ones.
  bool Choose(size_t first, size_t left, const NodesBySize& together) {
    const int64_t held = Largest(together, nodes_);
    if (held >= slots_) return true;
    for (; first + left <= order_.size() && left > 0; ++first) {
      // An upper bound: the largest nodes of several switches hold no more than those of each.
      int64_t most = held;
      for (size_t i = first; i < first + left; ++i) most += GetLargest(order_[i]);
      if (most < slots_ || ++steps_ > kMaxSteps) return false;
      NodesBySize with = together;
      Add(GetCounts(order_[first]), with);
      chosen_.push_back(order_[first]);
      if (Choose(first + 1, left - 1, with)) return true;
      chosen_.pop_back();
    }
    return false;
  }

  const std::vector<const NodesBySize*>& switches_;
  const int nodes_;
  const int slots_;
  std::vector<int64_t> largest_;  // by switch
  std::vector<int> order_;        // what its largest nodes hold: most first
  std::vector<int> chosen_;
  int steps_ = 0;
};

}  // namespace

std::vector<int> FewestSwitches(const std::vector<const NodesBySize*>& switches, int nodes,
                                int slots) {
  int best = -1;
  int64_t least = 0;
  for (int s = 0; s < static_cast<int>(switches.size()); ++s) {
    const NodesBySize& here = *switches[static_cast<size_t>(s)];
    const int64_t sum = Sum(here);
    if (sum < slots || (best >= 0 && sum >= least) || Largest(here, nodes) < slots) continue;
    best = s;
    least = sum;
  }
  if (best >= 0) return {best};
  return Search(switches, nodes, slots).Fewest();
}

}  // namespace det::scheduler
