// A configuration as a request gives it, read with what it stands on.
//
// Called by the services on the pool; blocks.
#ifndef MASTER_API_EXPERIMENTS_EXPERIMENT_CONFIG_H_
#define MASTER_API_EXPERIMENTS_EXPERIMENT_CONFIG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/api/rpc/edge.h"
#include "master/core/model/experiment_config.h"
#include "master/parse/parse.h"

namespace det::api {

struct GivenConfig {
  std::string yaml;
  std::string path;                          // of the file, for messages; may be empty
  std::vector<std::string> overrides;        // "a.b.c=<yaml>"
  std::string template_name;                 // may be empty
  std::string checkpoint_storage;            // of the workspace, as JSON; may be empty
  std::string resource_pool;                 // whose task defaults it has; may be empty
  std::vector<model::ConfigLayer> policies;  // config_policy.h, the lowest first
  std::string name = "Experiment";           // where the configuration says none
  uint32_t seed = 0;                         // the same
};

struct ReadyConfig {
  model::ExperimentConfig config;
  std::string text;                   // as it was given, with template and overrides
  std::vector<std::string> warnings;  // what is kept, but without effect on this cluster
};

// A configuration is stored with its experiment, and sent with each of its trials, several times in
// one message: more than this, as given or complete, is refused.
inline constexpr size_t kConfigBytes = size_t{2} << 20;
// INVALID_ARGUMENT for more; `what` has them.
absl::Status CheckSize(const std::string& what, size_t bytes);

// The layer of a `checkpoint_storage`, which is JSON; none where it is empty.
void AddStorage(const std::string& name, const std::string& storage,
                std::vector<model::ConfigLayer>& layers);

// INVALID_ARGUMENT with every problem; NOT_FOUND for the template.
absl::StatusOr<ReadyConfig> ReadConfig(const Edge& edge, const GivenConfig& given);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_EXPERIMENT_CONFIG_H_
