// Preemption requests of the master, and an implementation without any. Created by
// Context::FromEnvironment; Requested() may be called on any thread.
#ifndef TRIAL_API_CPP_CORE_CLUSTER_PREEMPTION_H_
#define TRIAL_API_CPP_CORE_CLUSTER_PREEMPTION_H_

#include <functional>
#include <memory>
#include <string>

#include "trial_api/cpp/core/preemption.h"
#include "trial_api/cpp/core/trial_client.h"

namespace det::core {

// For the chief: one stream per trial is enough, because the ranks agree before they stop.
// `on_over` is called on the stream's thread when the master no longer knows this attempt.
std::unique_ptr<Preemption> MakeClusterPreemption(
    std::shared_ptr<TrialClient> client, std::function<void(const std::string& why)> on_over);

std::unique_ptr<Preemption> MakeNoPreemption();

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_CLUSTER_PREEMPTION_H_
