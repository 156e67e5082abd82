// The experiments that users of a simulated cluster ask for.
#ifndef TESTS_SIM_CONFIGS_H_
#define TESTS_SIM_CONFIGS_H_

#include <cstdint>
#include <memory>

#include "master/core/model/experiment_config.h"
#include "tests/sim/stage.h"

namespace det::sim {

// Any, in project "p" of workspace "vision" or "speech".
std::shared_ptr<const model::ExperimentConfig> MakeConfig(Stage& stage);
// One whose search may be compared. From a seed of its own, so that nothing that happens changes
// it.
std::shared_ptr<const model::ExperimentConfig> MakeRepeatableConfig(uint64_t seed);

}  // namespace det::sim

#endif  // TESTS_SIM_CONFIGS_H_
