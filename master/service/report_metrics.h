// Metrics that a running trial reports, on their way into the cluster and the store.
//
// Called on the pool; blocks.
#ifndef MASTER_SERVICE_REPORT_METRICS_H_
#define MASTER_SERVICE_REPORT_METRICS_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "det/trial/v1/trial.pb.h"
#include "master/model/reports.h"
#include "master/service/call.h"
#include "master/service/edge.h"

namespace det::service {

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

}  // namespace det::service

#endif  // MASTER_SERVICE_REPORT_METRICS_H_
