// Metrics to the master, behind a queue (see metrics.h). Made by the cluster twin of the context on
// the chief; called by the training thread. Its destructor sends what is left, briefly.
#ifndef TRIAL_API_CPP_CORE_CLUSTER_METRICS_H_
#define TRIAL_API_CPP_CORE_CLUSTER_METRICS_H_

#include <memory>

#include "trial_api/cpp/core/metrics.h"
#include "trial_api/cpp/core/trial_client.h"

namespace det::core {

std::unique_ptr<Metrics> MakeClusterMetrics(std::shared_ptr<TrialClient> client);

// For every rank but the chief.
std::unique_ptr<Metrics> MakeSilentMetrics();

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_CLUSTER_METRICS_H_
