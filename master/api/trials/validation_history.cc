#include "master/api/trials/validation_history.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/status_macros.h"
#include "master/api/trials/metric_cursor.h"
#include "master/store/interfaces/canonical.h"

namespace det::api {

std::vector<Validation> SelectImprovements(std::vector<Validation> validations,
                                           bool smaller_is_better) {
  std::stable_sort(validations.begin(), validations.end(),
                   [](const Validation& a, const Validation& b) {
                     return std::tie(a.time, a.trial) < std::tie(b.time, b.trial);
                   });
  std::vector<Validation> best;
  for (const Validation& next : validations) {
    if (best.empty() ||
        (smaller_is_better ? next.metric < best.back().metric : next.metric > best.back().metric)) {
      best.push_back(next);
    }
  }
  return best;
}

absl::StatusOr<std::vector<Validation>> ReadValidationHistory(store::Store& store,
                                                              model::ExperimentId id) {
  DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record, store.GetExperiment(id));
  const model::SearcherConfig& searcher = record.experiment.config->searcher;
  DET_ASSIGN_OR_RETURN(const store::TrialPage page, store.ListTrials(store::MakeBareTrialQuery(id)));
  std::vector<Validation> validations;
  for (const store::TrialRecord& trial : page.trials) {
    MetricCursor reports(store, trial.trial.id, "validation");
    for (;; reports.Pop()) {
      DET_ASSIGN_OR_RETURN(const model::MetricReport* report, reports.Peek());
      if (report == nullptr) break;
      const auto metric = store::GetMetricNumber(report->metrics, searcher.metric);
      if (!metric || !std::isfinite(*metric)) continue;
      validations.push_back({report->time, report->trial, *metric});
    }
  }
  return SelectImprovements(std::move(validations), searcher.smaller_is_better);
}

}  // namespace det::api
