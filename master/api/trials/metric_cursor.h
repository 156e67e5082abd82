// MetricCursor: reads the metric reports of a trial one after the other. Only one page of them is
// in memory.
//
// Used by the services that return metrics, on the pool; blocks.
#ifndef MASTER_API_TRIALS_METRIC_CURSOR_H_
#define MASTER_API_TRIALS_METRIC_CURSOR_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// Reports in one page.
inline constexpr int kMetricPageSize = 500;

class MetricCursor {
 public:
  // Reads the reports of `group` in the order of their steps; all groups, in their order, if
  // `group` is empty. `store` must outlive the cursor.
  MetricCursor(store::Store& store, model::TrialId trial, const std::string& group,
               bool descending = false);

  // Returns the next report, or null after the last. It is valid until Pop().
  absl::StatusOr<const model::MetricReport*> Peek();
  void Pop() { ++next_; }

 private:
  store::Store& store_;
  store::MetricQuery query_;
  std::vector<model::MetricReport> page_;
  size_t next_ = 0;
  bool is_last_ = false;  // `page_` is the last page
};

}  // namespace det::api

#endif  // MASTER_API_TRIALS_METRIC_CURSOR_H_
