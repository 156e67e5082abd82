// The reports of a trial one after the other, read in portions: memory holds one portion, however
// long the trial was. Made by what answers about metrics, on the pool; blocks.
#ifndef MASTER_API_TRIALS_METRIC_CURSOR_H_
#define MASTER_API_TRIALS_METRIC_CURSOR_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// Reports that are read at a time.
inline constexpr int kMetricPortion = 500;

class MetricCursor {
 public:
  // By steps; of an empty group, by groups first. `store` must outlive it.
  MetricCursor(store::Store& store, model::TrialId trial, const std::string& group,
               bool descending = false);

  // The next one, null behind the last. It lives until Pop().
  absl::StatusOr<const model::MetricReport*> Peek();
  void Pop() { ++next_; }

 private:
  store::Store& store_;
  store::MetricQuery query_;
  std::vector<model::MetricReport> portion_;
  size_t next_ = 0;
  bool last_ = false;  // no portion follows
};

}  // namespace det::api

#endif  // MASTER_API_TRIALS_METRIC_CURSOR_H_
