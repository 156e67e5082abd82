// Continues an ended experiment: a new search of the same kind runs over the existing trials. Trial
// n of these searches does not depend on the results of other trials, so the new search creates the
// same trials again.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/cluster/handlers.h"
#include "master/core/cluster/scheduler_input.h"

namespace det::cluster {
namespace {

using experiment::Experiment;
using experiment::Trial;

absl::Status CheckContinues(const Experiment& e, const model::SearcherConfig& config) {
  const bool independent = config.sampler == "random";
  if (config.name == "single" ||
      (independent && (config.name == "random" || config.name == "grid"))) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "experiment ", e.id.value(), " uses the searcher ", config.name,
      independent ? "" : absl::StrCat(" with the sampler ", config.sampler),
      "; only the searchers single, random and grid can be continued, with the sampler "
      "random"));
}

// Returns a position at the end of the queue, but ahead of the next created experiment, whose
// position is its id.
double GetLastPosition(const Cluster::State& s) {
  double last = s.last_experiment;
  for (const auto& [id, entry] : s.experiments) {
    last = std::max(last, entry.experiment.queue.position);
  }
  return last + (s.last_experiment + 1 - last) / 2;
}

// Loads the experiment from its rows into memory, with a new searcher.
absl::StatusOr<Entry*> Load(Step& step, const ContinueExperiment& event, Experiment experiment) {
  const model::ExperimentId id = experiment.id;
  if (event.config != nullptr) experiment.config = event.config;
  DET_RETURN_IF_ERROR(CheckContinues(experiment, experiment.config->searcher));
  if (!experiment::Move(experiment, experiment::ExperimentEvent::kContinue)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "experiment ", id.value(), " is ", std::string(model::ToString(experiment.state)),
        "; only an ended experiment can be continued"));
  }
  const auto row = event.rows.searchers.find(id);
  const int64_t sequence = row == event.rows.searchers.end() ? 0 : row->second.sequence;
  const auto ended = step.s.ended.find(id);
  if (ended != step.s.ended.end() && ended->second != sequence) {
    return absl::AbortedError(absl::StrCat("experiment ", id.value(),
                                           " was continued and ended again meanwhile; try again"));
  }
  // A new configuration determines the place in the queue.
  if (event.config != nullptr) experiment.queue = MakePlace(step.s, experiment.config->resources, id.value());
  experiment.queue.position = GetLastPosition(step.s);
  experiment.queue.position_set = false;
  const std::string& pool = experiment.queue.resource_pool;
  DET_RETURN_IF_ERROR(CheckCanRun(step.s, experiment.config->resources,
                                  experiment.config->workspace, pool));
  step.out.exceeds_capacity = !CheckCapacity(step.s, experiment.config->resources, pool).ok();
  DET_ASSIGN_OR_RETURN(searcher::Searcher searcher, searcher::Searcher::Make(*experiment.config));
  experiment.reason.clear();
  experiment.progress = 0;
  experiment.ended_at.reset();
  Entry& entry = step.s.experiments
                     .emplace(id, Entry{.experiment = std::move(experiment),
                                        .searcher = std::move(searcher),
                                        .searcher_sequence = sequence,
                                        .trials = {},
                                        .waiting = {},
                                        .warned = {}})
                     .first->second;
  for (const Trial& trial : event.rows.trials) {
    entry.trials.emplace(trial.request, trial.id);
    step.s.trials.emplace(trial.id, trial);
  }
  return &entry;
}

}  // namespace

absl::StatusOr<Outcome> Apply(Step& step, const ContinueExperiment& event) {
  if (event.rows.experiments.size() != 1) {
    return absl::InvalidArgumentError("continuing an experiment needs exactly one experiment row");
  }
  const Experiment& before = event.rows.experiments.front();
  const auto live = step.s.experiments.find(before.id);
  if (live != step.s.experiments.end()) {
    const Experiment& e = live->second.experiment;
    if (event.config == nullptr || *event.config == *e.config) return step.Finish();
    return absl::FailedPreconditionError(
        absl::StrCat("experiment ", e.id.value(), " is ", std::string(model::ToString(e.state)),
                     "; only an ended experiment can be continued with another configuration"));
  }
  DET_RETURN_IF_ERROR(CheckRows(step.s, event));
  DET_ASSIGN_OR_RETURN(Entry * entry, Load(step, event, before));
  step.TouchJob(entry->experiment);
  ApplyOperations(step, *entry, entry->searcher.Start());
  return step.Finish();
}

void RequeueTrial(Step& step, Entry& entry, const searcher::CreateTrial& create, Trial& trial) {
  NotifySearcher(step, entry, searcher::TrialCreated{trial.request});
  const bool again = entry.experiment.config->searcher.name == "single";
  // The configuration may have changed.
  if (again) trial.hparams = create.hparams;
  if (trial.state == model::TrialState::kCompleted && !again) {
    NotifySearcher(step, entry,
                   searcher::TrialExited{trial.request, searcher::TrialEnd::kCompleted});
  } else {
    experiment::TrialActions actions = experiment::Continue(trial);
    const bool paused = entry.experiment.state == model::ExperimentState::kPaused;
    if (paused) actions.new_attempt = false;
    ApplyActions(step, trial, actions);
    if (paused) ApplyActions(step, trial, experiment::Pause(trial, step.now));
  }
}

}  // namespace det::cluster
