// Reads a configuration that a request contains: parses it once, merges it with the layers of its
// project and resource pool, and validates the result.
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
#include "master/checkpoint_storage/checkpoint_location.h"
#include "master/core/model/experiment_config.h"
#include "master/core/model/task_defaults.h"
#include "master/parse/parse.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// What the master's configuration provides to every experiment: the lowest layers of its
// configuration.
struct ExperimentDefaults {
  std::string checkpoint_storage;  // as JSON; empty: none
  model::TaskDefaults task_defaults;
  // `own` is the default of checkpoint_storage.host_path.
  checkpoint_storage::CheckpointLocations checkpoint_locations;
};

// A configuration as a request contains it.
struct ConfigSubmission {
  std::string yaml;
  std::string path;                    // of the file, for messages; may be empty
  std::vector<std::string> overrides;  // "a.b.c=<yaml>"
  std::string template_name;           // may be empty
  std::string name = "Experiment";     // if the configuration contains no name
  uint32_t seed = 0;                   // if the configuration contains no seed
  bool unmanaged = false;              // it runs outside of the cluster
};

// A submission whose YAML was parsed, and whose template was read from the store.
struct ParsedConfig {
  model::ConfigDocument document;
  std::vector<std::string> overrides;
  std::vector<model::ConfigLayer> templates;  // one or none
  std::vector<std::string> warnings;          // about the template
  std::string name;
  uint32_t seed = 0;
  bool unmanaged = false;
};

// The layers that depend on where the experiment runs, which the configuration itself determines.
struct ConfigScope {
  std::string checkpoint_storage;            // of the workspace, as JSON; may be empty
  std::string resource_pool;                 // whose task defaults apply; may be empty
  std::vector<model::ConfigLayer> policies;  // policies/config_policy.h, the lowest first
};

struct ValidConfig {
  model::ExperimentConfig config;
  std::vector<std::string> warnings;  // about fields that have no effect on this cluster
};

// The maximum size of a configuration as submitted, and complete. It is stored with its experiment,
// and sent with each of its trials, several times in one message.
inline constexpr size_t kMaxConfigBytes = size_t{2} << 20;
// INVALID_ARGUMENT if it is larger; `what` names it in the message.
absl::Status CheckConfigSize(const std::string& what, size_t bytes);

// Adds a layer with a `checkpoint_storage`, which is JSON; none if it is empty.
void AddStorageLayer(const std::string& name, const std::string& storage,
                     std::vector<model::ConfigLayer>& layers);

// Adds the layers of `task_container_defaults`: the cluster's and the pool's.
void AddTaskDefaults(const model::TaskDefaults& defaults, const std::string& pool,
                     std::vector<model::ConfigLayer>& layers);

// Parses the YAML and reads the template. INVALID_ARGUMENT if the text is too large or not YAML;
// NOT_FOUND if the template does not exist.
absl::StatusOr<ParsedConfig> ParseConfig(store::Store& store, const ConfigSubmission& submission);

// Merges the layers with a parsed configuration and validates the result. INVALID_ARGUMENT with
// every problem. May be called several times, with the layers of a scope that an earlier result
// determined.
absl::StatusOr<ValidConfig> ValidateConfig(const ExperimentDefaults& experiment_defaults,
                                           const ParsedConfig& parsed, const ConfigScope& scope);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_EXPERIMENT_CONFIG_H_
