#include "master/core/experiment/facts.h"

#include <string>

namespace det::experiment {

bool IsTold(model::ExperimentState state) {
  using State = model::ExperimentState;
  return state == State::kActive || state == State::kPaused || model::IsTerminal(state);
}

model::Value Facts(const Experiment& experiment, absl::Time now) {
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

}  // namespace det::experiment
