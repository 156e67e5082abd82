// Preemption as the master asks for it, and the twins that never hear of any. Made by
// Context::FromEnvironment; Requested() on any thread.
#ifndef TRIAL_API_CPP_CORE_CLUSTER_PREEMPTION_H_
#define TRIAL_API_CPP_CORE_CLUSTER_PREEMPTION_H_

#include <functional>
#include <memory>
#include <string>

#include "trial_api/cpp/core/preemption.h"
#include "trial_api/cpp/core/trial_client.h"

namespace det::core {

// For the chief: one stream per trial is enough, as the ranks agree before they act. `on_over` is
// called on the stream's thread when the master no longer knows this run.
std::unique_ptr<Preemption> MakeClusterPreemption(
    std::shared_ptr<TrialClient> client, std::function<void(const std::string& why)> on_over);

std::unique_ptr<Preemption> MakeNoPreemption();

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_CLUSTER_PREEMPTION_H_
