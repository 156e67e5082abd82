// The fewest switches whose nodes hold a gang. Called by spread.cc. PURE.
#ifndef MASTER_CORE_SCHEDULER_FEWEST_SWITCHES_H_
#define MASTER_CORE_SCHEDULER_FEWEST_SWITCHES_H_

#include <vector>

namespace det::scheduler {

// For one switch: element [u] is the number of its nodes that hold u slots of the gang.
using NodesBySize = std::vector<int>;

// Returns switches of which `nodes` nodes hold the gang: the fullest one that suffices alone, or
// the fewest together. Exact, except if many switches are needed in a large pool: then the search
// ends after some hundred steps with the best result so far. REQUIRES that `nodes` nodes of all
// switches together hold the gang.
std::vector<int> FewestSwitches(const std::vector<const NodesBySize*>& switches, int nodes,
                                int slots);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_FEWEST_SWITCHES_H_
