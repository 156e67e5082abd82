#include "master/api/trials/metric_cursor.h"

#include "base/status_macros.h"

namespace det::api {

MetricCursor::MetricCursor(store::Store& store, model::TrialId trial, const std::string& group,
                           bool descending)
    : store_(store),
      query_{
          .trials = {trial}, .group = group, .descending = descending, .limit = kMetricPageSize} {}

absl::StatusOr<const model::MetricReport*> MetricCursor::Peek() {
  if (next_ == page_.size() && !is_last_) {
    DET_ASSIGN_OR_RETURN(page_, store_.ReadMetrics(query_));
    next_ = 0;
    is_last_ = page_.size() < static_cast<size_t>(query_.limit);
    if (!page_.empty()) query_.after = store::GetPosition(page_.back());
  }
  return next_ < page_.size() ? &page_[next_] : nullptr;
}

}  // namespace det::api
