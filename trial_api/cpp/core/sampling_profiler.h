// A profiler that reports the samples of a Machine. Created by Context::FromEnvironment.
#ifndef TRIAL_API_CPP_CORE_SAMPLING_PROFILER_H_
#define TRIAL_API_CPP_CORE_SAMPLING_PROFILER_H_

#include <functional>
#include <memory>

#include "trial_api/cpp/core/machine.h"
#include "trial_api/cpp/core/metrics.h"
#include "trial_api/cpp/core/profiler.h"

namespace det::core {

// Reports to `metrics`, which must outlive the result and be thread-safe. `sources` is called on
// the profiler's thread when it is started.
std::unique_ptr<Profiler> MakeSamplingProfiler(Metrics* metrics,
                                               std::function<MachineSources()> sources);

// Returns a profiler whose On() has no effect.
std::unique_ptr<Profiler> MakeNoProfiler();

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_SAMPLING_PROFILER_H_
