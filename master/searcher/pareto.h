// Which of several points, judged by several losses, is better: nondominated sorting, and within a
// front the one with more room around it (Deb et al., "A fast and elitist multiobjective genetic
// algorithm: NSGA-II", IEEE TEC 6(2), 2002). PURE.
#ifndef MASTER_SEARCHER_PARETO_H_
#define MASTER_SEARCHER_PARETO_H_

#include <cstddef>
#include <vector>

namespace det::searcher {

// Whether a is nowhere worse than b and somewhere better.
bool Dominates(const std::vector<double>& a, const std::vector<double>& b);

// Indices of the points, best first. Each has as many losses; none is NaN.
std::vector<size_t> ParetoOrder(const std::vector<const std::vector<double>*>& points);

}  // namespace det::searcher

#endif  // MASTER_SEARCHER_PARETO_H_
