// A gang over several nodes. Called by fit.cc. PURE.
#ifndef MASTER_CORE_SCHEDULER_SPREAD_H_
#define MASTER_CORE_SCHEDULER_SPREAD_H_

#include <optional>

#include "master/core/scheduler/fit.h"

namespace det::scheduler {

// Over the fewest nodes; of such sets, below the fewest switches; largest shares first. Exact:
// shares may be of any size, so taking the largest first never has to be taken back.
std::optional<Fitting> SpreadOverFewest(const PoolState& pool, const GangClass& gang_class,
                                        int slots, Horizon horizon);

// Over wholly idle nodes of one size, the largest size that divides the gang.
std::optional<Fitting> SpreadOverEquals(const PoolState& pool, const GangClass& gang_class,
                                        int slots, Horizon horizon);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_SPREAD_H_
