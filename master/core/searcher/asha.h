// `asha`, also named `async_halving`: one bracket of asynchronous successive halving (halving.h).
//
// If stop_once is true, uses the stopping rule; otherwise the promotion rule of Li et al., "A
// System for Massively Parallel Hyperparameter Tuning" (MLSys 2020). If num_rungs is 0, uses as
// many rungs as are useful for max_length and max_trials with the divisor, at most max_rungs, which
// is `adaptive_asha` in aggressive mode. If max_concurrent_trials is 0, uses divisor^(num_rungs-1),
// so that one trial reaches the top, at least 1 and at most max_trials. PURE.
#ifndef MASTER_CORE_SEARCHER_ASHA_H_
#define MASTER_CORE_SEARCHER_ASHA_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "master/core/model/searcher_config.h"
#include "master/core/searcher/halving.h"
#include "master/core/searcher/search_method.h"

namespace det::searcher {

// INVALID_ARGUMENT, naming the field, if successive halving is not possible with the configuration.
absl::Status CheckHalving(const model::SearcherConfig& config);

// Returns the number of rungs that are useful for max_length and max_trials, from 1 to max_rungs.
int64_t UsefulRungs(const model::SearcherConfig& config);

// Returns one bracket of this search. REQUIRES that CheckHalving(config) is OK.
Halving::Options AshaBracket(const model::SearcherConfig& config, int64_t rungs, int64_t trials);

absl::StatusOr<std::unique_ptr<SearchMethod>> MakeAsha(const model::SearcherConfig& config);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_ASHA_H_
