// The order in which points with several losses are worth keeping: by the front they lie in
// (pareto.h), and within a front the ones with more room around them first (Deb et al., "A fast and
// elitist multiobjective genetic algorithm: NSGA-II", IEEE TEC 6(2), 2002). PURE.
#ifndef MASTER_CORE_SEARCHER_CROWDING_H_
#define MASTER_CORE_SEARCHER_CROWDING_H_

#include <cstddef>
#include <vector>

#include "master/core/searcher/pareto.h"

namespace det::searcher {

// Indices of the points, best first. Each has as many losses; none is NaN.
std::vector<size_t> ParetoOrder(const std::vector<const Losses*>& points);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_CROWDING_H_
