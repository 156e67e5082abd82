#include "master/api/trials/convert_run.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "master/api/common/convert.h"

namespace det::api {
namespace {

using store::ColumnType;

v1::FlatRunExperiment ToExperiment(const store::RunRecord& run) {
  v1::FlatRunExperiment out;
  out.set_id(run.trial.experiment.value());
  out.set_name(run.name);
  out.set_description(run.description);
  out.set_searcher_type(run.searcher);
  out.set_searcher_metric(run.searcher_metric);
  if (run.forked_from) out.set_forked_from(run.forked_from->value());
  if (run.external_experiment_id) out.set_external_experiment_id(*run.external_experiment_id);
  out.set_unmanaged(run.unmanaged);
  out.set_resource_pool(run.resource_pool);
  out.set_progress(static_cast<float>(run.progress));
  out.set_is_multitrial(run.searcher != "single");
  return out;
}

// A run has no states within ACTIVE, which filters and scripts ask for. A run outside of the
// cluster has the state that it reported.
v1::Trial::State ToRunState(v1::Trial::State state, bool unmanaged) {
  switch (state) {
    case v1::Trial::STATE_RUNNING:
      return unmanaged ? state : v1::Trial::STATE_ACTIVE;
    case v1::Trial::STATE_QUEUED:
    case v1::Trial::STATE_PULLING:
    case v1::Trial::STATE_STARTING:
      return v1::Trial::STATE_ACTIVE;
    default:
      return state;
  }
}

v1::ColumnType ColumnTypeToProto(ColumnType type) {
  switch (type) {
    case ColumnType::kNumber:
      return v1::COLUMN_TYPE_NUMBER;
    case ColumnType::kDate:
      return v1::COLUMN_TYPE_DATE;
    case ColumnType::kText:
    case ColumnType::kArray:
      return v1::COLUMN_TYPE_TEXT;
    case ColumnType::kFlag:
      break;
  }
  return v1::COLUMN_TYPE_UNSPECIFIED;
}

v1::LocationType GetLocation(const std::string& group) {
  if (group == "training") return v1::LOCATION_TYPE_TRAINING;
  if (group == "validation") return v1::LOCATION_TYPE_VALIDATIONS;
  return v1::LOCATION_TYPE_CUSTOM_METRIC;
}

v1::ProjectColumn MakeColumn(std::string name, v1::LocationType location, v1::ColumnType type) {
  v1::ProjectColumn column;
  column.set_column(std::move(name));
  column.set_location(location);
  column.set_type(type);
  return column;
}

}  // namespace

v1::FlatRun ToProto(const store::RunRecord& run, const LiveTrials& live, absl::Time now) {
  store::TrialRecord record;
  record.trial = run.trial;
  v1::Trial trial = ToProto(record, live, {}, now);
  v1::FlatRun out;
  out.set_id(trial.id());
  *out.mutable_start_time() = trial.start_time();
  if (trial.has_end_time()) *out.mutable_end_time() = trial.end_time();
  out.set_state(ToRunState(trial.state(), run.unmanaged));
  out.set_trial_state(trial.state());
  for (const std::string& label : run.labels) out.add_labels(label);
  out.set_checkpoint_size(run.checkpoint_size);
  out.set_checkpoint_count(run.checkpoint_count);
  if (run.trial.external_id) out.set_external_run_id(*run.trial.external_id);
  if (run.trial.best_metric) out.set_searcher_metric_value(*run.trial.best_metric);
  *out.mutable_hyperparameters() = std::move(*trial.mutable_hparams());
  *out.mutable_summary_metrics() = ToProto(run.metrics);
  out.set_user_id(run.owner.value());
  out.set_duration(static_cast<int32_t>(trial.wall_clock_time()));
  out.set_project_id(run.project);
  out.set_project_name(run.project_name);
  out.set_workspace_id(run.workspace);
  out.set_workspace_name(run.workspace_name);
  out.set_parent_archived(run.parent_archived);
  *out.mutable_experiment() = ToExperiment(run);
  if (!run.metadata.is_null()) *out.mutable_metadata() = ToStruct(run.metadata);
  out.set_archived(run.archived);
  if (!run.trial.log_policy.empty()) out.set_log_policy_matched(run.trial.log_policy);
  out.set_local_id(absl::StrCat(run.project_key, "-", trial.id()));
  return out;
}

std::vector<v1::ProjectColumn> ToColumns(store::Table table,
                                         const std::vector<store::ValueColumn>& values,
                                         const std::vector<store::MetricName>& metrics) {
  const bool runs = table == store::Table::kRuns;
  std::vector<v1::ProjectColumn> columns;
  for (const store::FixedColumn& fixed : store::FixedColumns(table)) {
    columns.push_back(MakeColumn(fixed.name,
                                 runs ? v1::LOCATION_TYPE_RUN : v1::LOCATION_TYPE_EXPERIMENT,
                                 ColumnTypeToProto(fixed.type)));
    columns.back().set_display_name(fixed.shown);
  }
  for (const auto& [group, metric] : metrics) {
    for (const char* statistic : {"last", "max", "mean", "min"}) {
      columns.push_back(MakeColumn(absl::StrCat(group, ".", metric, ".", statistic),
                                   GetLocation(group), v1::COLUMN_TYPE_NUMBER));
    }
  }
  for (const store::ValueColumn& value : values) {
    const bool metadata = absl::StartsWith(value.key, "metadata.");
    // The experiments table of existing clients cannot show metadata columns, but filters may use
    // them.
    if (metadata && !runs) continue;
    columns.push_back(MakeColumn(value.key,
                                 metadata ? v1::LOCATION_TYPE_RUN_METADATA
                                 : runs   ? v1::LOCATION_TYPE_RUN_HYPERPARAMETERS
                                          : v1::LOCATION_TYPE_HYPERPARAMETERS,
                                 value.number ? v1::COLUMN_TYPE_NUMBER : v1::COLUMN_TYPE_TEXT));
  }
  return columns;
}

}  // namespace det::api
