#include "master/core/cluster/experiment_details.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "master/core/cluster/handlers.h"
#include "master/core/cluster/scheduler_input.h"

namespace det::cluster {
namespace {

void SetProjectRef(Step& step, Entry& entry, const ProjectRef& project) {
  experiment::Experiment& e = entry.experiment;
  Put(project, e);
  for (const auto& [request, id] : entry.trials) {
    const experiment::Trial& trial = step.s.trials.at(id);
    if (trial.allocation) step.s.slot_time.Move(*trial.allocation, e.config->workspace);
  }
  step.TouchJob(e);
  step.Replan();
}

absl::Status Move(Step& step, Entry& entry, const ProjectRef& to) {
  const experiment::Experiment& e = entry.experiment;
  if (to.workspace_name != e.config->workspace) {
    DET_RETURN_IF_ERROR(
        CheckCanRun(step.s, e.config->resources, to.workspace_name, e.queue.resource_pool));
  }
  SetProjectRef(step, entry, to);
  return absl::OkStatus();
}

}  // namespace

void Put(const ProjectRef& project, experiment::Experiment& e) {
  e.workspace = project.workspace;
  e.project = project.project;
  if (e.config->workspace == project.workspace_name && e.config->project == project.project_name) {
    return;
  }
  model::ExperimentConfig config = *e.config;
  config.workspace = project.workspace_name;
  config.project = project.project_name;
  e.config = std::make_shared<const model::ExperimentConfig>(std::move(config));
}

void Put(const ExperimentDetails& details, experiment::Experiment& e) {
  model::ExperimentConfig config = *e.config;
  if (details.name) config.name = *details.name;
  if (details.description) config.description = *details.description;
  if (details.labels) config.labels = *details.labels;
  e.config = std::make_shared<const model::ExperimentConfig>(std::move(config));
}

absl::StatusOr<Outcome> Apply(Step& step, const MoveExperiment& event) {
  const auto live = step.s.experiments.find(event.id);
  if (live != step.s.experiments.end()) {
    DET_RETURN_IF_ERROR(Move(step, live->second, event.to));
  } else {
    DET_RETURN_IF_ERROR(CheckNotDeleting(step.s, event.id));
  }
  step.Change(SetProject{event.id, event.to});
  step.Effect(ExperimentChanged{event.id});
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const RenameWorkspaceOrProject& event) {
  for (auto& [id, entry] : step.s.experiments) {
    const experiment::Experiment& e = entry.experiment;
    const bool by_workspace = event.workspace != 0 && e.workspace == event.workspace;
    const bool by_project = event.project != 0 && e.project == event.project;
    if (!by_workspace && !by_project) continue;
    SetProjectRef(step, entry,
                  {e.workspace, e.project, by_workspace ? event.name : e.config->workspace,
                   by_project ? event.name : e.config->project});
  }
  for (auto& [id, task] : step.s.tasks) {
    if (event.workspace == 0 || task.workspace != event.workspace) continue;
    task.workspace_name = event.name;
    if (task.allocation) step.s.slot_time.Move(*task.allocation, event.name);
    step.TouchJob(task);
    step.Replan();
  }
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const UpdateExperimentDetails& event) {
  const auto live = step.s.experiments.find(event.id);
  if (live != step.s.experiments.end()) {
    Put(event.details, live->second.experiment);
  } else {
    DET_RETURN_IF_ERROR(CheckNotDeleting(step.s, event.id));
  }
  step.Change(SetExperimentDetails{event.id, event.details});
  step.Effect(ExperimentChanged{event.id});
  return step.Finish();
}

}  // namespace det::cluster
