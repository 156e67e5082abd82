// Parses the fields of an experiment configuration (JSON) that control the training loop. Used on
// and off the cluster; any thread.
#ifndef TRIAL_API_CPP_CORE_TRAINING_CONFIG_H_
#define TRIAL_API_CPP_CORE_TRAINING_CONFIG_H_

#include <string>
#include <string_view>

#include "trial_api/cpp/core/context.h"

namespace det::core {

// Missing fields have their defaults. Throws Error with the name of an invalid field.
TrainingConfig ParseTrainingConfig(std::string_view config_json);

// Returns whether the ranks of a node are threads of one process: optimizations.strategy
// in_process.
bool IsInProcess(std::string_view config_json);

// Returns the value of a top-level field as JSON; "{}" if it is missing.
std::string TopLevelField(std::string_view config_json, const std::string& name);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_TRAINING_CONFIG_H_
