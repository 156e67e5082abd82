// The configurations of experiments as responses show them. Pages contain the same ones again and
// again, and converting one takes longer than the rest of its row, so the results are cached while
// neither the configuration nor the place in the queue changes.
//
// Any thread. Does no I/O.
#ifndef MASTER_API_COMMON_SHOWN_CONFIGS_H_
#define MASTER_API_COMMON_SHOWN_CONFIGS_H_

#include <memory>
#include <string>

#include "master/store/interfaces/records.h"

namespace det::api {

// A configuration, as JSON.
struct ShownConfig {
  std::shared_ptr<const std::string> config;
  std::shared_ptr<const std::string> hyperparameters;
  std::string original;  // GetShownOriginal()
};

// Returns the text that was submitted, or the shown configuration `config` as JSON if that text
// contains secrets, which `config` hides.
std::string GetShownOriginal(const experiment::Experiment& experiment, const model::Value& config);

std::shared_ptr<const ShownConfig> WriteShownConfig(const store::ExperimentRecord& record);

}  // namespace det::api

#endif  // MASTER_API_COMMON_SHOWN_CONFIGS_H_
