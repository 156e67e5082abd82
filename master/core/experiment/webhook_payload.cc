#include "master/core/experiment/webhook_payload.h"

#include <string>

namespace det::experiment {

bool IsNotifiable(model::ExperimentState state) {
  using State = model::ExperimentState;
  return state == State::kActive || state == State::kPaused || model::IsTerminal(state);
}

model::Value MakeWebhookPayload(const Experiment& experiment, absl::Time now) {
  const absl::Time end = experiment.ended_at.value_or(now);
  model::Value::Object facts;
  facts["id"] = int64_t{experiment.id.value()};
  facts["name"] = experiment.config->name;
  facts["state"] = std::string(ToString(experiment.state));
  facts["duration"] = absl::ToInt64Seconds(end - experiment.created_at);
  facts["resource_pool"] = experiment.queue.resource_pool;
  facts["slots_per_trial"] = experiment.config->resources.slots_per_trial;
  facts["workspace"] = experiment.config->workspace;
  facts["project"] = experiment.config->project;
  return facts;
}

model::WebhookEvent MakeStateEvent(const Experiment& experiment, absl::Time now) {
  model::WebhookEvent event;
  event.trigger = model::WebhookTrigger::kExperimentStateChange;
  event.experiment = experiment.id;
  event.state = std::string(ToString(experiment.state));
  event.data = model::Value::Object{{"experiment", MakeWebhookPayload(experiment, now)}};
  event.at = now;
  return event;
}

}  // namespace det::experiment
