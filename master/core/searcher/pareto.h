// Points with several losses, all to be made small: which are beaten by none (the Pareto front),
// and how many fronts each lies behind. NaN counts as infinite. Of equal points none beats another,
// so that all of them are in the same front. Called by samplers and by whoever shows a search's
// result.
//
// The order of work is ENS-BS of Zhang, Tian, Cheng and Jin, "An efficient approach to nondominated
// sorting for evolutionary multiobjective optimization" (IEEE TEVC 19(2), 2015): a point is
// compared only with those that may beat it. PURE.
#ifndef MASTER_CORE_SEARCHER_PARETO_H_
#define MASTER_CORE_SEARCHER_PARETO_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace det::searcher {

using Losses = std::vector<double>;

// Whether a is nowhere worse than b and somewhere better. REQUIRES as many losses in each.
bool Dominates(const Losses& a, const Losses& b);

// The points that no point dominates, as indices in ascending order.
std::vector<size_t> Front(const std::vector<Losses>& points);

// For each point 0 if it is in the front, 1 if it is in the front of those that are left without
// that one, and so on.
std::vector<int64_t> Ranks(const std::vector<Losses>& points);

// The area that points of two losses dominate, up to `reference`; points which do not beat the
// reference in both losses add nothing. REQUIRES a finite reference; a loss of -infinity makes the
// area infinite.
double Hypervolume(const std::vector<Losses>& points, const std::array<double, 2>& reference);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_PARETO_H_
