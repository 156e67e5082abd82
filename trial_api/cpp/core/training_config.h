// From an experiment configuration, as JSON text, to what the training loop obeys. Called by both
// twins of the context; any thread.
#ifndef TRIAL_API_CPP_CORE_TRAINING_CONFIG_H_
#define TRIAL_API_CPP_CORE_TRAINING_CONFIG_H_

#include <string>
#include <string_view>

#include "trial_api/cpp/core/context.h"

namespace det::core {

// Absent fields keep their defaults. Throws Error naming the field that is wrong.
TrainingConfig ParseTrainingConfig(std::string_view config_json);

// Whether the ranks of a node are threads of one process: optimizations.strategy in_process.
bool IsInProcess(std::string_view config_json);

// The value of one top-level field as JSON text; "{}" when it is absent.
std::string TopLevelField(std::string_view config_json, const std::string& name);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_TRAINING_CONFIG_H_
