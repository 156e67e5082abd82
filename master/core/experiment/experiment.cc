#include "master/core/experiment/experiment.h"

#include <tuple>

namespace det::experiment {

bool operator==(const Experiment& a, const Experiment& b) {
  const auto rest = [](const Experiment& e) {
    return std::tie(e.id, e.job, e.owner, e.owner_name, e.workspace, e.project, e.request_id,
                    e.original_config, e.context_hash, e.warm_start, e.forked_from, e.unmanaged,
                    e.external_id, e.queue, e.state, e.reason, e.progress, e.best_metric,
                    e.best_trial, e.created_at, e.ended_at);
  };
  if (rest(a) != rest(b)) return false;
  if (a.config == b.config) return true;
  return a.config != nullptr && b.config != nullptr && *a.config == *b.config;
}

std::string OwnerName(const Experiment& experiment) {
  return experiment.owner_name.empty() ? std::to_string(experiment.owner.value())
                                       : experiment.owner_name;
}

bool Move(Experiment& experiment, ExperimentEvent event) {
  const std::optional<model::ExperimentState> next =
      base::Lookup(kExperimentTable, experiment.state, event);
  if (next) experiment.state = *next;
  return next.has_value();
}

}  // namespace det::experiment
