#include "master/scheduler/fit.h"

#include <algorithm>
#include <cstddef>

namespace det::scheduler {
namespace {

using model::Placement;

// Of the nodes with at least `slots` free, that with the fewest; nullptr when there is none.
const FreeNode* BestFit(int slots, const std::vector<const FreeNode*>& nodes) {
  const FreeNode* best = nullptr;
  for (const FreeNode* node : nodes) {
    if (node->free.size() < static_cast<size_t>(slots)) continue;
    if (best == nullptr || node->free.size() < best->free.size() ||
        (node->free.size() == best->free.size() && node->id < best->id)) {
      best = node;
    }
  }
  return best;
}

Placement LowestSlots(const FreeNode& node, int count) {
  return {node.id, std::vector<int>(node.free.begin(), node.free.begin() + count)};
}

std::optional<std::vector<Placement>> FitZeroSlots(const std::vector<const FreeNode*>& nodes) {
  const auto least =
      std::min_element(nodes.begin(), nodes.end(), [](const FreeNode* a, const FreeNode* b) {
        if (a->zero_slot_gangs != b->zero_slot_gangs) {
          return a->zero_slot_gangs < b->zero_slot_gangs;
        }
        return a->id < b->id;
      });
  if (least == nodes.end()) return std::nullopt;
  return std::vector<Placement>{{(*least)->id, {}}};
}

}  // namespace

std::optional<std::vector<Placement>> Fit(const Gang& gang, const std::vector<FreeNode>& nodes) {
  std::vector<const FreeNode*> open;
  for (const FreeNode& node : nodes) {
    if (node.accepts_work) open.push_back(&node);
  }
  if (gang.slots <= 0) return FitZeroSlots(open);

  // Largest first; a node that can take all that is left ends it, and never sooner than the
  // largest could: so the number of nodes is the smallest possible.
  std::sort(open.begin(), open.end(), [](const FreeNode* a, const FreeNode* b) {
    if (a->free.size() != b->free.size()) return a->free.size() > b->free.size();
    return a->id < b->id;
  });
  std::vector<Placement> placements;
  int left = gang.slots;
  while (true) {
    if (const FreeNode* last = BestFit(left, open)) {
      placements.push_back(LowestSlots(*last, left));
      return placements;
    }
    if (gang.single_node || open.empty() || open.front()->free.empty()) return std::nullopt;
    const FreeNode& largest = *open.front();
    const int share = static_cast<int>(largest.free.size());
    placements.push_back(LowestSlots(largest, share));
    left -= share;
    open.erase(open.begin());
  }
}

void Take(const std::vector<Placement>& placements, std::vector<FreeNode>& nodes) {
  for (const Placement& placement : placements) {
    const auto node = std::find_if(nodes.begin(), nodes.end(),
                                   [&](const FreeNode& n) { return n.id == placement.agent; });
    if (node == nodes.end()) continue;
    if (placement.slots.empty()) ++node->zero_slot_gangs;
    std::erase_if(node->free, [&](int slot) {
      return std::find(placement.slots.begin(), placement.slots.end(), slot) !=
             placement.slots.end();
    });
  }
}

}  // namespace det::scheduler
