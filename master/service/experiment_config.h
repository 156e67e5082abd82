// A configuration as a request gives it, read with what it stands on.
//
// Called by the services on the pool; blocks.
#ifndef MASTER_SERVICE_EXPERIMENT_CONFIG_H_
#define MASTER_SERVICE_EXPERIMENT_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "master/model/experiment_config.h"
#include "master/service/edge.h"

namespace det::service {

struct GivenConfig {
  std::string yaml;
  std::string path;                    // of the file, for messages; may be empty
  std::vector<std::string> overrides;  // "a.b.c=<yaml>"
  std::string template_name;           // may be empty
  std::string name = "Experiment";     // where the configuration says none
  uint32_t seed = 0;                   // the same
};

// INVALID_ARGUMENT with every problem; NOT_FOUND for the template. `warnings`: what is kept, but
// without effect on this cluster.
absl::StatusOr<model::ExperimentConfig> ReadConfig(const Edge& edge, const GivenConfig& given,
                                                   std::vector<std::string>* warnings = nullptr);

}  // namespace det::service

#endif  // MASTER_SERVICE_EXPERIMENT_CONFIG_H_
