// Metrics that a running trial reports, on their way into the cluster and the store.
//
// Called on the pool; blocks.
#ifndef MASTER_API_RUNTIME_REPORT_METRICS_H_
#define MASTER_API_RUNTIME_REPORT_METRICS_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "det/trial/v1/trial.pb.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/edge.h"
#include "master/core/model/reports.h"

namespace det::api {

// `now` where a report does not say when. INVALID_ARGUMENT for a group or a number of steps that
// cannot be.
absl::StatusOr<std::vector<model::MetricReport>> ToReports(
    const det::trial::v1::ReportMetricsRequest& request, absl::Time now);

// Validations go through the cluster, because the searcher reads them; the rest straight to the
// store. `done` when all are durable; before, `best_so_far` says whether one of the validations is
// the best that the experiment has seen. May be null.
// Who watches `experiment`, the trial's, hears of it.
void AddMetrics(const Edge& edge, model::ExperimentId experiment,
                const model::AllocationId& allocation, std::vector<model::MetricReport> reports,
                std::function<void(bool)> best_so_far, Done done);

}  // namespace det::api

#endif  // MASTER_API_RUNTIME_REPORT_METRICS_H_
