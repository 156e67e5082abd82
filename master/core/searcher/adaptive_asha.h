// `adaptive_asha`: several brackets of asynchronous successive halving side by side (tournament.h),
// from many rungs (many trials, stopped early) to few (few trials, trusted longer), because nobody
// knows how early a loss tells. After Li et al., "Hyperband" (JMLR 18, 2018), whose brackets they
// are, and "A System for Massively Parallel Hyperparameter Tuning" (MLSys 2020).
//
// Of a search that has use for k rungs (asha.h), the brackets have
//   aggressive    k
//   standard      k, k-1, ..., (k-1)/2 + 1
//   conservative  k, k-1, ..., 1
// rungs, or those of bracket_rungs. k is counted, where the predecessor's quotient of logarithms
// loses a rung for exact powers, such as (divisor, max_length) = (3, 243) or (10, 1000).
//
// The trials of all brackets are max_trials, never more: a budget that is smaller than the number
// of brackets leaves out those with the fewest rungs. PURE.
#ifndef MASTER_CORE_SEARCHER_ADAPTIVE_ASHA_H_
#define MASTER_CORE_SEARCHER_ADAPTIVE_ASHA_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "master/core/model/searcher_config.h"
#include "master/core/searcher/search_method.h"

namespace det::searcher {

// The number of rungs of each bracket, descending. REQUIRES CheckHalving(config) to be ok.
std::vector<int64_t> BracketRungs(const model::SearcherConfig& config);

// `total` in proportion to the weights, at least 1 each, what rounding leaves to the first; exactly
// `total` together, so that the last ones go where there are more weights than that.
std::vector<int64_t> Apportion(int64_t total, const std::vector<double>& weights);

// Of a bracket with r rungs in proportion to divisor^(r-1) / r; as many as have a trial.
std::vector<int64_t> BracketTrials(int64_t max_trials, double divisor,
                                   const std::vector<int64_t>& rungs);

// The slots of each bracket. 0 for max_concurrent_trials: for each as many as the last one has
// trials, or floor(divisor) where that is more. Otherwise evenly, the first ones one more.
std::vector<int64_t> BracketConcurrency(int64_t max_concurrent_trials, double divisor,
                                        const std::vector<int64_t>& trials);

absl::StatusOr<std::unique_ptr<SearchMethod>> MakeAdaptiveAsha(const model::SearcherConfig& config);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_ADAPTIVE_ASHA_H_
