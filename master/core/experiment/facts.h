// What others are told of an experiment (docs/webhooks.md): the same words for each event.
//
// PURE.
#ifndef MASTER_CORE_EXPERIMENT_FACTS_H_
#define MASTER_CORE_EXPERIMENT_FACTS_H_

#include "absl/time/time.h"
#include "master/core/experiment/experiment.h"
#include "master/core/model/states.h"
#include "master/core/model/value.h"

namespace det::experiment {

// Whether entering this state is news; the steps in between are not.
bool IsTold(model::ExperimentState state);

model::Value Facts(const Experiment& experiment, absl::Time now);

}  // namespace det::experiment

#endif  // MASTER_CORE_EXPERIMENT_FACTS_H_
