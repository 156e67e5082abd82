// The order of preemption victims: lowest priority first; then gangs above their minimum; then
// least lost work; then newest. Used in every list of victims. PURE.
#ifndef MASTER_CORE_SCHEDULER_VICTIM_ORDER_H_
#define MASTER_CORE_SCHEDULER_VICTIM_ORDER_H_

namespace det::scheduler {

struct GangState;

// REQUIRES that both are listed as victims (GangState::victim_priority).
struct VictimOrder {
  bool operator()(const GangState* a, const GangState* b) const;
};

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_VICTIM_ORDER_H_
