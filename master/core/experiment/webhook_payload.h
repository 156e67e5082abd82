// What others are told of an experiment (docs/webhooks.md): the same words for each event.
//
// PURE.
#ifndef MASTER_CORE_EXPERIMENT_WEBHOOK_PAYLOAD_H_
#define MASTER_CORE_EXPERIMENT_WEBHOOK_PAYLOAD_H_

#include "absl/time/time.h"
#include "master/core/experiment/experiment.h"
#include "master/core/model/states.h"
#include "master/core/model/value.h"

namespace det::experiment {

// Whether entering this state is news; the steps in between are not.
bool IsNotifiable(model::ExperimentState state);

model::Value MakeWebhookPayload(const Experiment& experiment, absl::Time now);

}  // namespace det::experiment

#endif  // MASTER_CORE_EXPERIMENT_WEBHOOK_PAYLOAD_H_
