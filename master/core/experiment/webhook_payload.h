// The payload of webhooks about an experiment (docs/webhooks.md), the same for each event.
//
// PURE.
#ifndef MASTER_CORE_EXPERIMENT_WEBHOOK_PAYLOAD_H_
#define MASTER_CORE_EXPERIMENT_WEBHOOK_PAYLOAD_H_

#include "absl/time/time.h"
#include "master/core/experiment/experiment.h"
#include "master/core/model/states.h"
#include "master/core/model/value.h"
#include "master/core/model/webhook.h"

namespace det::experiment {

// Whether webhooks are notified of this state; intermediate states are not notified.
bool IsNotifiable(model::ExperimentState state);

model::Value MakeWebhookPayload(const Experiment& experiment, absl::Time now);

// The event of the experiment's current state.
model::WebhookEvent MakeStateEvent(const Experiment& experiment, absl::Time now);

}  // namespace det::experiment

#endif  // MASTER_CORE_EXPERIMENT_WEBHOOK_PAYLOAD_H_
