// `adaptive_asha`: several brackets of asynchronous successive halving in parallel
// (multi_bracket.h), from many rungs (many trials, stopped early) to few (few trials, trained
// longer), because it is unknown how early a loss is meaningful. After Li et al., "Hyperband" (JMLR
// 18, 2018), which defines the brackets, and "A System for Massively Parallel Hyperparameter
// Tuning" (MLSys 2020).
//
// For a search with k useful rungs (asha.h), the brackets have
//   aggressive    k
//   standard      k, k-1, ..., (k-1)/2 + 1
//   conservative  k, k-1, ..., 1
// rungs, or those of bracket_rungs. k is counted exactly; Determined's quotient of logarithms loses
// a rung for exact powers, such as (divisor, max_length) = (3, 243) or (10, 1000).
//
// All brackets together have exactly max_trials trials: if there are fewer trials than brackets,
// those with the fewest rungs are left out. PURE.
#ifndef MASTER_CORE_SEARCHER_ADAPTIVE_ASHA_H_
#define MASTER_CORE_SEARCHER_ADAPTIVE_ASHA_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "master/core/model/searcher_config.h"
#include "master/core/searcher/search_method.h"

namespace det::searcher {

// Returns the number of rungs of each bracket, descending. REQUIRES that CheckHalving(config) is
// OK.
std::vector<int64_t> BracketRungs(const model::SearcherConfig& config);

// Divides `total` in proportion to the weights, at least 1 each; the rounding remainder goes to the
// first. The sum is exactly `total`, so the last ones are dropped if there are more weights than
// that.
std::vector<int64_t> Apportion(int64_t total, const std::vector<double>& weights);

// Returns the number of trials of each bracket, in proportion to divisor^(r-1) / r for a bracket
// with r rungs; only for brackets that have a trial.
std::vector<int64_t> BracketTrials(int64_t max_trials, double divisor,
                                   const std::vector<int64_t>& rungs);

// Returns the concurrency limit of each bracket. If max_concurrent_trials is 0, the number of
// trials of the last bracket, or floor(divisor) if that is more; otherwise an equal part, the first
// ones one more.
std::vector<int64_t> BracketConcurrency(int64_t max_concurrent_trials, double divisor,
                                        const std::vector<int64_t>& trials);

absl::StatusOr<std::unique_ptr<SearchMethod>> MakeAdaptiveAsha(const model::SearcherConfig& config);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_ADAPTIVE_ASHA_H_
