// The configuration of a run without a master: the YAML file, and what the command line puts over
// it. Called by the off-cluster twin of the context; any thread. The only place of the Trial API
// that reads YAML.
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

// An empty path means an empty configuration. `overrides_json`: hyperparameters by name, nested
// ones by dots. Throws Error: with file, line and column when the YAML is wrong, and with the name
// of a hyperparameter that is a range and has no override.
OffClusterConfig ReadOffClusterConfig(const std::string& path, const std::string& overrides_json);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_OFF_CLUSTER_CONFIG_H_
