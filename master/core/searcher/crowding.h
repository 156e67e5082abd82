// The order of points with several losses: by Pareto front (pareto.h), and within a front by
// descending crowding distance (Deb et al., "A fast and elitist multiobjective genetic algorithm:
// NSGA-II", IEEE TEC 6(2), 2002). PURE.
#ifndef MASTER_CORE_SEARCHER_CROWDING_H_
#define MASTER_CORE_SEARCHER_CROWDING_H_

#include <cstddef>
#include <vector>

#include "master/core/searcher/pareto.h"

namespace det::searcher {

// Returns the indices of the points, best first. REQUIRES the same number of losses in each, none
// NaN.
std::vector<size_t> ParetoOrder(const std::vector<const Losses*>& points);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_CROWDING_H_
