// Metrics that are sent with the report queue (see metrics.h), and the no-op implementation for all
// ranks but the chief. Created by the context on the cluster; called on the training thread.
#ifndef TRIAL_API_CPP_CORE_CLUSTER_METRICS_H_
#define TRIAL_API_CPP_CORE_CLUSTER_METRICS_H_

#include <memory>

#include "trial_api/cpp/core/metrics.h"
#include "trial_api/cpp/core/report_queue.h"

namespace det::core {

std::unique_ptr<Metrics> MakeClusterMetrics(std::shared_ptr<ReportQueue> queue);

// For all ranks but the chief.
std::unique_ptr<Metrics> MakeSilentMetrics();

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_CLUSTER_METRICS_H_
