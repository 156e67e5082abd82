#include "master/core/searcher/preview.h"

#include <map>

namespace det::searcher {

PlanTotals SumOf(const Plan& plan) {
  std::map<int64_t, int64_t> trials_at;
  for (const auto& bracket : plan) {
    for (const PlannedTrials& row : bracket) {
      if (row.trials > 0) trials_at[row.length] += row.trials;
    }
  }
  PlanTotals totals;
  for (const auto& [length, trials] : trials_at) {
    totals.rows.push_back({.trials = trials, .length = length});
    totals.trials += trials;
    totals.units += static_cast<double>(trials) * static_cast<double>(length);
  }
  return totals;
}

}  // namespace det::searcher
