// A context made of its parts, and the two functions that gather them: on the cluster and off it.
// Called by Context::FromEnvironment, on the thread that trains.
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
  std::optional<Length> max_length;  // in place of the configuration's
  std::vector<int64_t> validate_at;
  Hparams hparams;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<Metrics> metrics;
  std::unique_ptr<Checkpoints> checkpoints;  // after the communicator, which it uses
  std::unique_ptr<Preemption> preemption;
  std::unique_ptr<Tensorboard> tensorboard;
  std::unique_ptr<Profiler> profiler;  // after the metrics, which it reports to
  std::function<void(const std::string& message)> report_invalid_hp;
  std::function<void(const std::string& message)> report_failure;  // empty: nobody to tell
};

// From $DET_RUN_DIR/info/trial.json and the environment. Throws Error.
ContextParts GatherClusterParts(const Ranks& ranks);
// The whole configuration, from the same file. Throws Error.
std::string ClusterConfigJson();

// From the YAML file and the command line. Throws Error.
ContextParts GatherOffClusterParts(const Context::OffCluster& off_cluster, const Ranks& ranks);

std::unique_ptr<Context> MakeContext(ContextParts parts);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_CONTEXT_PARTS_H_
