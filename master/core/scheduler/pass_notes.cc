// The part of PoolPass that says why somebody does not start.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "master/core/scheduler/pass.h"
#include "master/core/scheduler/words.h"

namespace det::scheduler {

void PoolPass::NoteBehind(GangState& gang, const GangState& ahead) {
  ClassNote& note = *gang.gang_class->note;
  note.kind = WaitReason::Kind::kBehindOthers;
  note.behind = ahead.gang->id;
  const bool by_priority = pool_.config.policy == model::SchedulingPolicy::kPriority;
  note.ahead =
      absl::StrCat(ahead.gang->id.value(),
                   by_priority ? absl::StrCat(" of priority ", ahead.job->job.priority) : "",
                   ", which ", Needs(ahead.gang_class->shape));
}

void PoolPass::NoteFailure(GangState& gang) {
  GangClass& c = *gang.gang_class;
  c.note.emplace().at = pool_.notes->order->PlaceOf(gang);
  if (c.shape.slots > 0) {
    if (strict_ != nullptr) return NoteBehind(gang, *strict_);
  }
  const GangState* barred_by = barred_by_[c.shape.slots == 0];
  if (barred_by != nullptr && IsBarred(c)) return NoteBehind(gang, *barred_by);
  if (c.shape.slots > 0) {
    if (const GangState* ahead = WhoseClaimIsInTheWay(c)) return NoteBehind(gang, *ahead);
  }
  const bool by_slots = c.plain() && c.shape.slots > 0;
  const auto claim = std::find_if(claims_.begin(), claims_.end(),
                                  [](const ClaimState& held) { return !held.holds.empty(); });
  if (!by_slots && claim != claims_.end() && FitsWithoutClaims(c)) {
    return NoteBehind(gang, *claim->gang);
  }
  if (pool_.with_maintenance.empty()) return;
  pool_.ignores_maintenance = true;
  if (Fit(pool_, c, c.shape.slots, kNow)) c.note->kind = WaitReason::Kind::kMaintenance;
  pool_.ignores_maintenance = false;
}

// For what claims hold besides slots.
bool PoolPass::FitsWithoutClaims(const GangClass& c) {
  for (const ClaimState& claim : claims_) Release(claim);
  const bool fits = Fit(pool_, c, c.shape.slots, kNow).has_value();
  for (const ClaimState& claim : claims_) Apply(claim);
  return fits;
}

// The first claim on a node, or on any, but for which the class might fit there.
const GangState* PoolPass::WhoseClaimIsInTheWay(const GangClass& c) const {
  struct OnNode {
    int slots = 0;
    const GangState* first = nullptr;
  };
  absl::flat_hash_map<const NodeState*, OnNode> nodes;
  int64_t claimed = 0;
  const GangState* first = nullptr;
  for (const ClaimState& claim : claims_) {
    for (const Hold& hold : claim.holds) {
      OnNode& node = nodes[hold.node];
      for (const int index : hold.slots) {
        const SlotState& slot = hold.node->slots[static_cast<size_t>(index)];
        if (!c.Matches(slot.device) || slot.used + c.shape.fraction > kWhole) continue;
        ++node.slots;
        ++claimed;
        if (node.first == nullptr) node.first = claim.gang;
        if (first == nullptr) first = claim.gang;
      }
      const int free = c.view(kNow).free(hold.node->rank);
      if (node.slots > 0 && free + node.slots >= c.shape.slots) return node.first;
    }
  }
  const bool together =
      !c.shape.single_node && c.view(kNow).total_free() + claimed >= c.shape.slots;
  return together ? first : nullptr;
}

void PoolPass::NoteWhatIsFree() {
  for (const ClaimState& claim : claims_) Release(claim);
  claims_.clear();
  for (const auto& [shape, gang_class] : pool_.classes) {
    GangClass& c = *gang_class;
    if (c.queues.empty() || c.views[kNow] == nullptr) continue;
    if (!c.note) c.note.emplace().at = Place();
    c.note->free = c.view(kNow).total_free();
    c.note->largest_free = c.view(kNow).LargestFree(1 << 30);
  }
}

}  // namespace det::scheduler
