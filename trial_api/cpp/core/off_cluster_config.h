// The configuration of a run off the cluster: the YAML file and the overrides of the command line.
// Any thread. The only place of the Trial API that parses YAML.
#ifndef TRIAL_API_CPP_CORE_OFF_CLUSTER_CONFIG_H_
#define TRIAL_API_CPP_CORE_OFF_CLUSTER_CONFIG_H_

#include <cstdint>
#include <string>

namespace det::core {

struct OffClusterConfig {
  std::string config_json = "{}";   // the file as JSON
  std::string hparams_json = "{}";  // one value for each hyperparameter
  uint32_t seed = 0;                // reproducibility.experiment_seed
};

// Reads a configuration. An empty path means an empty configuration. `overrides_json` contains
// hyperparameters by name, with dots for nested ones. Throws Error: with file, line and column for
// invalid YAML, and with the name of a hyperparameter that is a range and has no override.
OffClusterConfig ReadOffClusterConfig(const std::string& path, const std::string& overrides_json);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_OFF_CLUSTER_CONFIG_H_
