// Finds the minimum number of switches whose nodes have enough slots for a gang. Called by
// spread.cc. PURE.
#ifndef MASTER_CORE_SCHEDULER_FEWEST_SWITCHES_H_
#define MASTER_CORE_SCHEDULER_FEWEST_SWITCHES_H_

#include <vector>

namespace det::scheduler {

// For one switch: element [n] is the number of its nodes that can hold n slots of the gang.
using NodesBySize = std::vector<int>;

// Returns the indices of switches of which at most `nodes` nodes can hold `slots` slots: if one
// switch suffices, the one with the fewest free slots; otherwise the minimum number of switches.
// The result is exact, except if many switches are needed in a large pool: then the search ends
// after a few hundred steps and returns the best result so far. REQUIRES that `nodes` nodes of all
// switches together can hold the gang.
std::vector<int> FindFewestSwitches(const std::vector<const NodesBySize*>& switches, int nodes,
                                    int slots);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_FEWEST_SWITCHES_H_
