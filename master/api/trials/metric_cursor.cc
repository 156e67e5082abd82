#include "master/api/trials/metric_cursor.h"

#include "base/status_macros.h"

namespace det::api {

MetricCursor::MetricCursor(store::Store& store, model::TrialId trial, const std::string& group,
                           bool descending)
    : store_(store),
      query_{.trials = {trial}, .group = group, .descending = descending, .limit = kMetricPortion} {
}

absl::StatusOr<const model::MetricReport*> MetricCursor::Peek() {
  if (next_ == portion_.size() && !last_) {
    DET_ASSIGN_OR_RETURN(portion_, store_.ReadMetrics(query_));
    next_ = 0;
    last_ = portion_.size() < static_cast<size_t>(query_.limit);
    if (!portion_.empty()) query_.after = store::PlaceOf(portion_.back());
  }
  return next_ < portion_.size() ? &portion_[next_] : nullptr;
}

}  // namespace det::api
