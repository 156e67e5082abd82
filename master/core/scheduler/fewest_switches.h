// The fewest switches below which a gang finds enough nodes. Called by spread.cc. PURE.
#ifndef MASTER_CORE_SCHEDULER_FEWEST_SWITCHES_H_
#define MASTER_CORE_SCHEDULER_FEWEST_SWITCHES_H_

#include <vector>

namespace det::scheduler {

// Of one switch: [u] nodes below it hold u slots of the gang.
using NodesBySize = std::vector<int>;

// Of the switches, those below which `nodes` nodes hold the gang: the fullest one that suffices
// alone, or the fewest together. Exact, but where more than a few switches are needed in a large
// pool: there the search ends after some hundred steps with the fewest that it has found.
// REQUIRES that `nodes` nodes of all switches together hold the gang.
std::vector<int> FewestSwitches(const std::vector<const NodesBySize*>& switches, int nodes,
                                int slots);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_FEWEST_SWITCHES_H_
