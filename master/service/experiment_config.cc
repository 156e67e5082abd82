#include "master/service/experiment_config.h"

#include "base/status_macros.h"
#include "master/model/parse/parse.h"

namespace det::service {

absl::StatusOr<model::ExperimentConfig> ReadConfig(const Edge& edge, const GivenConfig& given,
                                                   std::vector<std::string>*) {
  model::ConfigDefaults defaults;
  defaults.checkpoint_host_path = edge.checkpoint_places.own;
  defaults.experiment_seed = given.seed;
  return model::ParseExperimentConfig(given.yaml, given.path, {}, defaults);
}

}  // namespace det::service
