// The configurations of the experiments and other tasks that users of a simulated cluster create.
#ifndef TESTS_SIM_CONFIGS_H_
#define TESTS_SIM_CONFIGS_H_

#include <cstdint>
#include <memory>

#include "master/core/experiment/task.h"
#include "master/core/model/experiment_config.h"
#include "tests/sim/stage.h"

namespace det::sim {

// A random configuration, in project "p" of workspace "vision" or "speech".
std::shared_ptr<const model::ExperimentConfig> MakeConfig(Stage& stage);
// A configuration whose search is comparable between runs. It depends only on the seed, not on
// events.
std::shared_ptr<const model::ExperimentConfig> MakeRepeatableConfig(uint64_t seed);

// A task that is not a trial, without its id.
experiment::Task MakeTask(Stage& stage);

}  // namespace det::sim

#endif  // TESTS_SIM_CONFIGS_H_
