#include "master/core/scheduler/fewest_switches.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

namespace det::scheduler {
namespace {

constexpr int kMaxSteps = 256;

// Returns the number of slots that the largest `nodes` nodes can hold together.
int64_t SumLargest(const NodesBySize& counts, int nodes) {
  int64_t sum = 0;
  for (size_t size = counts.size(); size-- > 1 && nodes > 0;) {
    const int taken = std::min(counts[size], nodes);
    sum += static_cast<int64_t>(size) * taken;
    nodes -= taken;
  }
  return sum;
}

int64_t SumAll(const NodesBySize& counts) {
  int64_t sum = 0;
  for (size_t size = 0; size < counts.size(); ++size) {
    sum += static_cast<int64_t>(size) * counts[size];
  }
  return sum;
}

void Add(const NodesBySize& counts, NodesBySize& total) {
  if (total.size() < counts.size()) total.resize(counts.size());
  for (size_t size = 0; size < counts.size(); ++size) total[size] += counts[size];
}

// The search for several switches: greedy, and then with fewer switches than the greedy result.
class Search {
 public:
  Search(const std::vector<const NodesBySize*>& switches, int nodes, int slots)
      : switches_(switches), nodes_(nodes), slots_(slots), order_(switches.size()) {
    for (const NodesBySize* counts : switches) bounds_.push_back(SumLargest(*counts, nodes));
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(), [&](int a, int b) {
      return GetBound(a) != GetBound(b) ? GetBound(a) > GetBound(b) : a < b;
    });
  }

  std::vector<int> FindFewest() {
    const std::vector<int> greedy = FindGreedily();
    for (size_t count = 2; count < greedy.size() && steps_ < kMaxSteps; ++count) {
      chosen_.clear();
      if (Choose(0, count, {})) return chosen_;
    }
    return greedy;
  }

 private:
  int64_t GetBound(int s) const { return bounds_[static_cast<size_t>(s)]; }
  const NodesBySize& GetCounts(int s) const { return *switches_[static_cast<size_t>(s)]; }

  std::vector<int> FindGreedily() const {
    std::vector<int> chosen;
    NodesBySize total;
    for (const int s : order_) {
      chosen.push_back(s);
      Add(GetCounts(s), total);
      if (SumLargest(total, nodes_) >= slots_) break;
    }
    return chosen;
  }

  // Adds at most `left` switches of order_[first...] to chosen_, whose nodes are `total`. Returns
  // whether they suffice.
  bool Choose(size_t first, size_t left, const NodesBySize& total) {
    const int64_t chosen_slots = SumLargest(total, nodes_);
    if (chosen_slots >= slots_) return true;
    for (; first + left <= order_.size() && left > 0; ++first) {
      // The largest nodes of several switches hold at most the sum of the switches' own bounds.
      int64_t bound = chosen_slots;
      for (size_t i = first; i < first + left; ++i) bound += GetBound(order_[i]);
      if (bound < slots_ || ++steps_ > kMaxSteps) return false;
      NodesBySize new_total = total;
      Add(GetCounts(order_[first]), new_total);
      chosen_.push_back(order_[first]);
      if (Choose(first + 1, left - 1, new_total)) return true;
      chosen_.pop_back();
    }
    return false;
  }

  const std::vector<const NodesBySize*>& switches_;
  const int nodes_;
  const int slots_;
  std::vector<int64_t> bounds_;  // by switch: the slots that its largest `nodes_` nodes can hold
  std::vector<int> order_;       // switches by bound, descending
  std::vector<int> chosen_;
  int steps_ = 0;
};

}  // namespace

std::vector<int> FindFewestSwitches(const std::vector<const NodesBySize*>& switches, int nodes,
                                    int slots) {
  int best = -1;
  int64_t min_sum = 0;
  for (int s = 0; s < static_cast<int>(switches.size()); ++s) {
    const NodesBySize& counts = *switches[static_cast<size_t>(s)];
    const int64_t sum = SumAll(counts);
    if (sum < slots || (best >= 0 && sum >= min_sum) || SumLargest(counts, nodes) < slots) continue;
    best = s;
    min_sum = sum;
  }
  if (best >= 0) return {best};
  return Search(switches, nodes, slots).FindFewest();
}

}  // namespace det::scheduler
