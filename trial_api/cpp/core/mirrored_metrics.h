// Metrics that are also written to TensorBoard event files, under the names that existing
// dashboards expect: Determined/<metric> for training, Determined/val_<metric> for validation.
// User-defined groups are not written. Created by the context on the chief; any thread.
#ifndef TRIAL_API_CPP_CORE_MIRRORED_METRICS_H_
#define TRIAL_API_CPP_CORE_MIRRORED_METRICS_H_

#include <memory>

#include "trial_api/cpp/core/metrics.h"
#include "trial_api/cpp/core/tensorboard.h"

namespace det::core {

// `tensorboard` must outlive the last call of the result.
std::unique_ptr<Metrics> MakeMirroredMetrics(std::unique_ptr<Metrics> metrics,
                                             Tensorboard* tensorboard);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_MIRRORED_METRICS_H_
