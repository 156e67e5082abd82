// Metrics as lines on a stream: the off-cluster twin of ClusterMetrics. Made by the off-cluster
// context on the chief; called by the training thread.
#ifndef TRIAL_API_CPP_CORE_PRINTED_METRICS_H_
#define TRIAL_API_CPP_CORE_PRINTED_METRICS_H_

#include <iosfwd>
#include <memory>
#include <string>

#include "trial_api/cpp/core/metrics.h"

namespace det::core {

// `searcher_metric` decides which validation is the best; every one is when it is empty.
std::unique_ptr<Metrics> MakePrintedMetrics(std::ostream& out, std::string searcher_metric,
                                            bool smaller_is_better);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_PRINTED_METRICS_H_
