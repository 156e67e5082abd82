// Metrics by way of the report queue (see metrics.h), and those of every rank but the chief. Made
// by the cluster twin of the context; called by the training thread.
#ifndef TRIAL_API_CPP_CORE_CLUSTER_METRICS_H_
#define TRIAL_API_CPP_CORE_CLUSTER_METRICS_H_

#include <memory>

#include "trial_api/cpp/core/metrics.h"
#include "trial_api/cpp/core/report_queue.h"

namespace det::core {

std::unique_ptr<Metrics> MakeClusterMetrics(std::shared_ptr<ReportQueue> queue);

// For every rank but the chief.
std::unique_ptr<Metrics> MakeSilentMetrics();

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_CLUSTER_METRICS_H_
