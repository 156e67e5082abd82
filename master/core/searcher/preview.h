// What a search is going to do, in one table: the plan of a method (SearchMethod::Preview) summed
// over its brackets. Called by `det preview-search` through the service. PURE.
#ifndef MASTER_CORE_SEARCHER_PREVIEW_H_
#define MASTER_CORE_SEARCHER_PREVIEW_H_

#include <cstdint>
#include <vector>

#include "master/core/searcher/search_method.h"

namespace det::searcher {

struct PlanTotals {
  std::vector<PlannedTrials> rows;  // by rising length, each once, none without trials
  int64_t trials = 0;
  double units = 0;  // of length, of all trials; a double, because trials times length may be large
};

PlanTotals SumOf(const Plan& plan);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_PREVIEW_H_
