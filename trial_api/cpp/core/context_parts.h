// The components of a context, and the functions that create them on and off the cluster. Called by
// Context::FromEnvironment, on the training thread.
#ifndef TRIAL_API_CPP_CORE_CONTEXT_PARTS_H_
#define TRIAL_API_CPP_CORE_CONTEXT_PARTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trial_api/cpp/core/context.h"

namespace det::core {

struct ContextParts {
  bool on_cluster = false;
  int experiment_id = 0;
  int trial_id = 0;
  uint32_t seed = 0;
  bool warm_start = false;
  std::string config_json;
  std::optional<Length> max_length;  // overrides the configuration
  std::vector<int64_t> validate_at;
  Hparams hparams;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<Tensorboard> tensorboard;
  std::unique_ptr<Metrics> metrics;          // must follow tensorboard, which it uses
  std::unique_ptr<Checkpoints> checkpoints;  // must follow communicator, which it uses
  std::unique_ptr<Preemption> preemption;
  std::unique_ptr<Profiler> profiler;  // must follow metrics, which it uses
  std::function<void(const std::string& message)> report_invalid_hp;
  // empty: failures are not reported
  std::function<void(const std::string& message)> report_failure;
};

// Creates the components from $DET_RUN_DIR/info/trial.json and the environment. Throws Error.
ContextParts GatherClusterParts(const Ranks& ranks);
// Returns the whole experiment configuration, from the same file. Throws Error.
std::string ClusterConfigJson();

// Creates the components from the YAML file and the command line. Throws Error.
ContextParts GatherOffClusterParts(const Context::OffCluster& off_cluster, const Ranks& ranks);

std::unique_ptr<Context> MakeContext(ContextParts parts);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_CONTEXT_PARTS_H_
