#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "master/core/cluster/handlers.h"
#include "master/core/cluster/scheduler_input.h"
#include "master/core/model/id_text.h"

namespace det::cluster {
namespace {

using experiment::ExperimentEvent;
using model::ExperimentState;

absl::StatusOr<Entry*> Find(Step& step, model::ExperimentId id) {
  const auto it = step.s.experiments.find(id);
  if (it == step.s.experiments.end()) {
    return absl::NotFoundError(absl::StrCat("experiment ", id.value(), " is not running"));
  }
  return &it->second;
}

absl::Status Reject(const experiment::Experiment& e, absl::string_view allowed,
                    absl::string_view done) {
  return absl::FailedPreconditionError(
      absl::StrCat("experiment ", e.id.value(), " is ", std::string(model::ToString(e.state)),
                   "; only ", allowed, " experiments can be ", done));
}

// Applies `act` to every live trial, then ends the experiment if none is left.
template <class Act>
Outcome ForEachTrial(Step& step, Entry& entry, const Act& act) {
  // Iterates over ids: the end of a trial may create trials.
  std::vector<model::TrialId> ids;
  for (const auto& [request, id] : entry.trials) ids.push_back(id);
  for (const model::TrialId& id : ids) {
    experiment::Trial& trial = step.s.trials.at(id);
    if (!model::IsTerminal(trial.state)) ApplyActions(step, trial, act(trial));
  }
  EndIfDone(step, entry);
  return step.Finish();
}

std::string NameUser(const std::string& name) { return name.empty() ? "a user" : name; }

}  // namespace

absl::StatusOr<Outcome> Apply(Step& step, const CreateExperiment& event) {
  if (!event.request_id.empty()) {
    for (const auto& [id, entry] : step.s.experiments) {
      if (entry.experiment.request_id != event.request_id) continue;
      if (entry.experiment.owner != event.owner) continue;
      step.out.created = id;
      return step.Finish();
    }
  }
  DET_RETURN_IF_ERROR(CheckOrigins(step.s, event));
  experiment::QueuePlace place =
      MakePlace(step.s, event.config->resources, step.s.last_experiment + 1);
  DET_RETURN_IF_ERROR(CheckCanRun(step.s, event.config->resources, event.config->workspace,
                                  place.resource_pool));
  step.out.exceeds_capacity = !CheckCapacity(step.s, event.config->resources, place.resource_pool).ok();
  DET_ASSIGN_OR_RETURN(searcher::Searcher searcher, searcher::Searcher::Make(*event.config));
  const model::ExperimentId id(++step.s.last_experiment);
  experiment::Experiment experiment;
  experiment.id = id;
  experiment.job = model::ToJobId(id);
  experiment.owner = event.owner;
  experiment.owner_name = event.owner_name;
  experiment.queue = std::move(place);
  experiment.workspace = event.workspace;
  experiment.project = event.project;
  experiment.request_id = event.request_id;
  experiment.config = event.config;
  experiment.original_config = event.original_config;
  experiment.context_hash = event.context_hash;
  experiment.warm_start = event.warm_start;
  experiment.forked_from = event.forked_from;
  experiment.state = event.activate ? ExperimentState::kActive : ExperimentState::kPaused;
  experiment.created_at = step.now;
  Entry& entry = step.s.experiments
                     .emplace(id, Entry{.experiment = std::move(experiment),
                                        .searcher = std::move(searcher),
                                        .trials = {},
                                        .waiting = {},
                                        .warned = {}})
                     .first->second;
  step.TouchJob(entry.experiment);
  step.out.created = id;
  ApplyOperations(step, entry, entry.searcher.Start());
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const ReserveId& event) {
  step.out.reserved =
      event.kind == ReserveId::Kind::kExperiment ? ++step.s.last_experiment : ++step.s.last_trial;
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const PauseExperiment& event) {
  DET_ASSIGN_OR_RETURN(Entry * entry, Find(step, event.id));
  if (entry->experiment.state == ExperimentState::kPaused) return step.Finish();
  if (!experiment::Move(entry->experiment, ExperimentEvent::kPause)) {
    return Reject(entry->experiment, "ACTIVE", "paused");
  }
  step.Touch(entry->experiment);
  return ForEachTrial(step, *entry,
                      [&](experiment::Trial& trial) { return experiment::Pause(trial, step.now); });
}

absl::StatusOr<Outcome> Apply(Step& step, const ActivateExperiment& event) {
  DET_ASSIGN_OR_RETURN(Entry * entry, Find(step, event.id));
  if (entry->experiment.state == ExperimentState::kActive) return step.Finish();
  if (!experiment::Move(entry->experiment, ExperimentEvent::kActivate)) {
    return Reject(entry->experiment, "PAUSED", "activated");
  }
  step.Touch(entry->experiment);
  return ForEachTrial(step, *entry,
                      [](experiment::Trial& trial) { return experiment::Activate(trial); });
}

absl::StatusOr<Outcome> Apply(Step& step, const CancelExperiment& event) {
  DET_ASSIGN_OR_RETURN(Entry * entry, Find(step, event.id));
  if (experiment::Move(entry->experiment, ExperimentEvent::kCancel)) {
    entry->experiment.reason = absl::StrCat("canceled by ", NameUser(event.by));
    step.Touch(entry->experiment);
  }
  return ForEachTrial(step, *entry, [&](experiment::Trial& trial) {
    return experiment::Finish(trial, model::TrialState::kCanceled, step.now);
  });
}

absl::StatusOr<Outcome> Apply(Step& step, const KillExperiment& event) {
  DET_ASSIGN_OR_RETURN(Entry * entry, Find(step, event.id));
  if (experiment::Move(entry->experiment, ExperimentEvent::kCancel)) {
    entry->experiment.reason = absl::StrCat("killed by ", NameUser(event.by));
    step.Touch(entry->experiment);
  }
  return ForEachTrial(step, *entry,
                      [&](experiment::Trial& trial) { return experiment::Kill(trial, step.now); });
}

absl::StatusOr<Outcome> Apply(Step& step, const KillTrial& event) {
  const auto it = step.s.trials.find(event.id);
  if (it == step.s.trials.end()) {
    return absl::NotFoundError(absl::StrCat("trial ", event.id.value(), " is not running"));
  }
  experiment::Trial& trial = it->second;
  if (model::IsTerminal(trial.state)) return step.Finish();
  trial.reason = absl::StrCat("killed by ", NameUser(event.by));
  step.Touch(trial);
  ApplyActions(step, trial, experiment::Kill(trial, step.now));
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const PostSearcherOperations& event) {
  DET_ASSIGN_OR_RETURN(Entry * entry, Find(step, event.id));
  // After its own shutdown the search itself recognizes repeated posts.
  if (!IsSearching(entry->experiment) && !entry->searcher.shut_down()) {
    return Reject(entry->experiment, "ACTIVE and PAUSED", "given operations");
  }
  DET_ASSIGN_OR_RETURN(std::vector<searcher::Operation> operations,
                       entry->searcher.Post(event.posted));
  step.Journal(*entry, event.posted);
  ApplyOperations(step, *entry, std::move(operations));
  return step.Finish();
}

}  // namespace det::cluster
