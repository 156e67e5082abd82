// What others are told of an experiment (docs/webhooks.md): the same words for each event.
//
// PURE.
#ifndef MASTER_EXPERIMENT_FACTS_H_
#define MASTER_EXPERIMENT_FACTS_H_

#include "absl/time/time.h"
#include "master/experiment/experiment.h"
#include "master/model/states.h"
#include "master/model/value.h"

namespace det::experiment {

// Whether entering this state is news; the steps in between are not.
bool IsTold(model::ExperimentState state);

model::Value Facts(const Experiment& experiment, absl::Time now);

}  // namespace det::experiment

#endif  // MASTER_EXPERIMENT_FACTS_H_
