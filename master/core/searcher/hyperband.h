// `hyperband`: Li et al., "Hyperband: A Novel Bandit-Based Approach to Hyperparameter Optimization"
// (JMLR 18, 2018). Brackets s = s_max .. 0 of synchronous successive halving (halving.h), with R =
// max_length, eta = divisor, s_max = floor(log_eta R):
//   trials   n_s = ceil((s_max + 1) / (s + 1) * eta^s)
//   lengths  R * eta^-s, ..., R * eta^-1, R, rounded down
//
// The paper counts lengths in units of the least one worth training; here s_max + 1 is at most
// max_rungs (5 unless set), so that this least one is max_length / divisor^(max_rungs-1).
//
// max_trials caps the trials of all brackets, each in proportion; 0 means the full set. One after
// the other: a bracket begins when those before it leave slots free. max_concurrent_trials 0: no
// limit. PURE.
#ifndef MASTER_CORE_SEARCHER_HYPERBAND_H_
#define MASTER_CORE_SEARCHER_HYPERBAND_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "master/core/model/searcher_config.h"
#include "master/core/searcher/search_method.h"

namespace det::searcher {

// n_s for s = s_max, s_max - 1, ..., 0. REQUIRES divisor > 1.
std::vector<int64_t> HyperbandTrials(int64_t s_max, double divisor);

absl::StatusOr<std::unique_ptr<SearchMethod>> MakeHyperband(const model::SearcherConfig& config);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_HYPERBAND_H_
