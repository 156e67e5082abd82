// Metrics that are printed as lines, for runs off the cluster. Created by the context on the chief;
// called on the training thread.
#ifndef TRIAL_API_CPP_CORE_PRINTED_METRICS_H_
#define TRIAL_API_CPP_CORE_PRINTED_METRICS_H_

#include <iosfwd>
#include <memory>
#include <string>

#include "trial_api/cpp/core/metrics.h"

namespace det::core {

// `searcher_metric` determines which validation is the best; if it is empty, every validation is.
std::unique_ptr<Metrics> MakePrintedMetrics(std::ostream& out, std::string searcher_metric,
                                            bool smaller_is_better);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_PRINTED_METRICS_H_
