// `asha`, also named `async_halving`: one bracket of asynchronous successive halving (halving.h).
//
// stop_once true: by the stopping rule; false: by the promotion rule of Li et al., "A System for
// Massively Parallel Hyperparameter Tuning" (MLSys 2020).
// num_rungs 0: as many as max_length and max_trials have use for, by divisor, at most max_rungs;
// then it is `adaptive_asha` in its aggressive mode. max_concurrent_trials 0:
// divisor^(num_rungs-1), so many that one of them comes to the top, at least 1 and at most
// max_trials. PURE.
#ifndef MASTER_CORE_SEARCHER_ASHA_H_
#define MASTER_CORE_SEARCHER_ASHA_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "master/core/model/searcher_config.h"
#include "master/core/searcher/halving.h"
#include "master/core/searcher/search_method.h"

namespace det::searcher {

// INVALID_ARGUMENT, naming the field, for what no successive halving can do.
absl::Status CheckHalving(const model::SearcherConfig& config);

// As many rungs as max_length and max_trials have use for, at most max_rungs, at least 1.
int64_t UsefulRungs(const model::SearcherConfig& config);

// One bracket of this search. REQUIRES CheckHalving(config) to be ok.
Halving::Options AshaBracket(const model::SearcherConfig& config, int64_t rungs, int64_t trials);

absl::StatusOr<std::unique_ptr<SearchMethod>> MakeAsha(const model::SearcherConfig& config);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_ASHA_H_
