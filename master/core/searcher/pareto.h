// Pareto fronts of points with several losses to minimize. NaN counts as infinite. Equal points do
// not dominate each other, so they are in the same front. Called by samplers and for the results of
// a search.
//
// The algorithm is ENS-BS of Zhang, Tian, Cheng and Jin, "An efficient approach to nondominated
// sorting for evolutionary multiobjective optimization" (IEEE TEVC 19(2), 2015): a point is
// compared only with those that may dominate it. PURE.
#ifndef MASTER_CORE_SEARCHER_PARETO_H_
#define MASTER_CORE_SEARCHER_PARETO_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace det::searcher {

using Losses = std::vector<double>;

// Whether a is not worse than b in any loss and better in at least one. REQUIRES equal sizes.
bool Dominates(const Losses& a, const Losses& b);

// Returns the indices of the points that no point dominates, ascending.
std::vector<size_t> Front(const std::vector<Losses>& points);

// Returns for each point the index of its front: 0 for the Pareto front, 1 for the front of the
// remaining points, and so on.
std::vector<int64_t> Ranks(const std::vector<Losses>& points);

// Returns the area that points with two losses dominate, up to `reference`; points that are not
// better than the reference in both losses do not count. REQUIRES a finite reference; a loss of
// -infinity makes the area infinite.
double Hypervolume(const std::vector<Losses>& points, const std::array<double, 2>& reference);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_PARETO_H_
