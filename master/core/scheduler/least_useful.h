// Whom to ask away first: worst priority; above its minimum; least work lost; newest.
//
// The order of those who may be asked, wherever they are listed. PURE.
#ifndef MASTER_CORE_SCHEDULER_LEAST_USEFUL_H_
#define MASTER_CORE_SCHEDULER_LEAST_USEFUL_H_

namespace det::scheduler {

struct GangState;

// REQUIRES of both that they are listed as victims (GangState::victim_priority).
struct LeastUseful {
  bool operator()(const GangState* a, const GangState* b) const;
};

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_LEAST_USEFUL_H_
