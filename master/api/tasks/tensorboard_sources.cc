#include "master/api/tasks/tensorboard_sources.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/api/experiments/bulk_query.h"
#include "master/core/model/experiment_config.h"

namespace det::api {
namespace {

using model::Value;

// Each is read and fetched one by one.
constexpr int kMaxExperiments = 500;

constexpr char kLaunch[] = "det.api.v1.CommandService.LaunchTensorboard";

// The trials of each experiment; empty: all.
using Selection = std::map<int32_t, std::set<int32_t>>;

absl::Status AddMatching(store::Store& store, const v1::BulkExperimentFilters& filters,
                         const auth::Principal& principal, Selection& selection) {
  DET_ASSIGN_OR_RETURN(store::ExperimentQuery query, ToBulkQuery(filters));
  query.project = std::max(filters.project_id(), 0);
  query.window.limit = kMaxExperiments + 1 + filters.excluded_experiment_ids_size();
  query.visible = principal.Visible(model::Permission::kViewExperimentArtifacts);
  DET_ASSIGN_OR_RETURN(const store::ExperimentPage page, store.ListExperiments(query));
  const auto& excluded = filters.excluded_experiment_ids();
  for (const store::ExperimentRecord& record : page.experiments) {
    const int32_t id = record.experiment.id.value();
    if (std::count(excluded.begin(), excluded.end(), id) == 0) selection[id];
  }
  return absl::OkStatus();
}

absl::StatusOr<Selection> Select(store::Store& store, const v1::LaunchCommandRequest& request,
                                 const auth::Principal& principal) {
  Selection selection;
  for (const int32_t id : request.experiment_ids()) selection[id];
  if (request.has_filters()) {
    DET_RETURN_IF_ERROR(AddMatching(store, request.filters(), principal, selection));
  }
  for (const int32_t id : request.trial_ids()) {
    const absl::StatusOr<store::TrialRecord> record = store.GetTrial(model::TrialId(id));
    if (absl::IsNotFound(record.status())) {
      return auth::ResourceNotFound(auth::Scope::kTrial, absl::StrCat(id));
    }
    DET_RETURN_IF_ERROR(record.status());
    selection[record->trial.experiment.value()].insert(id);
  }
  return selection;
}

Value MakeSource(const experiment::Experiment& experiment, const std::set<int32_t>& trials,
                 const std::string& cluster_id) {
  const Value config = model::ToValue(*experiment.config);
  const Value* storage = config.Find("checkpoint_storage");
  Value::Object source = {
      {"storage", storage == nullptr ? Value() : *storage},
      {"prefix", absl::StrCat(cluster_id, "/tensorboard/experiment/", experiment.id.value(), "/")}};
  if (trials.empty()) return source;
  source["trials"] = Value::List(trials.begin(), trials.end());
  return source;
}

}  // namespace

absl::StatusOr<TensorboardSources> FindTensorboardSources(store::Store& store,
                                                          const v1::LaunchCommandRequest& request,
                                                          const std::string& cluster_id,
                                                          const auth::Principal& principal) {
  if (request.experiment_ids().empty() && request.trial_ids().empty() && !request.has_filters()) {
    return absl::InvalidArgumentError("must set experiment, trial ids, or filters");
  }
  DET_ASSIGN_OR_RETURN(const Selection selection, Select(store, request, principal));
  if (selection.empty()) return absl::InvalidArgumentError("no experiments found");
  if (selection.size() > kMaxExperiments) {
    return absl::InvalidArgumentError(absl::StrCat(
        "more than ", kMaxExperiments,
        " experiments match, which is the most that a TensorBoard shows; select fewer"));
  }
  TensorboardSources sources;
  for (const auto& [id, trials] : selection) {
    const std::string text = absl::StrCat(id);
    const absl::StatusOr<store::ExperimentRecord> record =
        store.GetExperiment(model::ExperimentId(id));
    if (absl::IsNotFound(record.status())) {
      return auth::ResourceNotFound(auth::Scope::kExperiment, text);
    }
    DET_RETURN_IF_ERROR(record.status());
    const experiment::Experiment& experiment = record->experiment;
    DET_RETURN_IF_ERROR(
        auth::AuthorizeInWorkspace(kLaunch, principal, model::Permission::kViewExperimentArtifacts,
                                   experiment.workspace, auth::Scope::kExperiment, text));
    sources.experiments.push_back(id);
    sources.workspaces.insert(experiment.workspace);
    sources.sources.push_back(MakeSource(experiment, trials, cluster_id));
    sources.image = experiment.config->environment.image;
  }
  return sources;
}

}  // namespace det::api
