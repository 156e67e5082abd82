// The profiler that reports what a Machine says. Made by Context::FromEnvironment.
#ifndef TRIAL_API_CPP_CORE_SAMPLING_PROFILER_H_
#define TRIAL_API_CPP_CORE_SAMPLING_PROFILER_H_

#include <functional>
#include <memory>

#include "trial_api/cpp/core/machine.h"
#include "trial_api/cpp/core/metrics.h"
#include "trial_api/cpp/core/profiler.h"

namespace det::core {

// Reports to `metrics`, which must outlive it and bear calls of several threads. `sources` is
// called on the profiler's thread, once it is on.
std::unique_ptr<Profiler> MakeSamplingProfiler(Metrics* metrics,
                                               std::function<MachineSources()> sources);

// Whose On() has no effect.
std::unique_ptr<Profiler> MakeNoProfiler();

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_SAMPLING_PROFILER_H_
