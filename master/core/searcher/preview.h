// The planned trials of a search in one table: the plan of a method (SearchMethod::Preview) summed
// over its brackets. Called by SearchService for `det preview-search`. PURE.
#ifndef MASTER_CORE_SEARCHER_PREVIEW_H_
#define MASTER_CORE_SEARCHER_PREVIEW_H_

#include <cstdint>
#include <vector>

#include "master/core/searcher/search_method.h"

namespace det::searcher {

struct PlanTotals {
  std::vector<PlannedTrials> rows;  // by ascending length, each once, none without trials
  int64_t trials = 0;
  double units = 0;  // total length of all trials; a double, because it may be large
};

PlanTotals SumPlan(const Plan& plan);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_PREVIEW_H_
