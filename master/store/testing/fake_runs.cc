#include "master/store/testing/fake_runs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/testing/search_match.h"

namespace det::store {
namespace {

constexpr size_t kNameLimit = 200;
constexpr size_t kTextLimit = 500;
constexpr size_t kMaxValues = 1000;

std::string Text(const model::Value& value) {
  return value.AsString() != nullptr ? *value.AsString() : value.ToJson();
}

// Equivalent to the SQL function leaves().
void AddLeaves(const std::string& prefix, const model::Value& value,
               std::map<std::string, Cell>& leaves) {
  if (const model::Value::Object* object = value.AsObject()) {
    for (const auto& [key, member] : *object) AddLeaves(prefix + "." + key, member, leaves);
  } else if (!value.is_null() && prefix.size() <= kNameLimit) {
    const auto number = value.AsNumber();
    const bool finite = number && std::isfinite(*number);
    leaves.emplace(prefix, finite ? Cell(*number) : Cell(Text(value).substr(0, kTextLimit)));
  }
}

std::map<std::string, Cell> Leaves(const RunRecord& run) {
  std::map<std::string, Cell> leaves;
  AddLeaves("hp", run.trial.hparams, leaves);
  if (run.metadata.AsObject() != nullptr) AddLeaves("metadata", run.metadata, leaves);
  return leaves;
}

template <class T>
Cell Optional(const std::optional<T>& value) {
  return value ? Cell(*value) : Cell();
}
template <class Id>
Cell Number(const Id& id) {
  return Cell(static_cast<double>(id.value()));
}

Cell Statistic(const RunRecord& run, const Column& column) {
  const auto found = run.metrics.find({column.group, column.metric});
  if (found == run.metrics.end() || found->second.count == 0) return {};
  const MetricSummary& summary = found->second;
  switch (column.statistic) {
    case Statistic::kMin:
      return summary.min;
    case Statistic::kMax:
      return summary.max;
    case Statistic::kMean:
      return summary.sum / static_cast<double>(summary.count);
    case Statistic::kLast:
      break;
  }
  return summary.last;
}

Cell Duration(absl::Time begin, std::optional<absl::Time> end) {
  return absl::ToDoubleSeconds(end.value_or(absl::Now()) - begin);
}

// Fields that runs and experiments share; `run` may lack a trial.
Cell Shared(const RunRecord& run, const std::string& username, Field field) {
  switch (field) {
    case Field::kName:
      return run.name;
    case Field::kDescription:
      return run.description;
    case Field::kTags:
      return run.labels;
    case Field::kForkedFrom:
      return run.forked_from ? Number(*run.forked_from) : Cell();
    case Field::kExternalExperimentId:
      return Optional(run.external_experiment_id);
    case Field::kSearcherType:
      return run.searcher;
    case Field::kSearcherMetric:
      return run.searcher_metric;
    case Field::kResourcePool:
      return run.resource_pool;
    case Field::kProgress:
      return run.progress;
    case Field::kUser:
      return username;
    case Field::kUserId:
      return Number(run.owner);
    case Field::kProjectId:
      return static_cast<double>(run.project);
    case Field::kArchived:
      return run.archived;
    case Field::kParentArchived:
      return run.parent_archived;
    case Field::kIsMultitrial:
      return run.searcher != "single";
    default:
      return {};
  }
}

// For an active experiment, RUNNING if one of its trials is running, QUEUED if one is queued.
std::string ShownState(model::ExperimentState state, const std::set<model::TrialState>& trials) {
  if (state == model::ExperimentState::kActive) {
    for (const auto runs : {model::TrialState::kRunning, model::TrialState::kStopping}) {
      if (trials.contains(runs)) return "RUNNING";
    }
    if (trials.contains(model::TrialState::kQueued)) return "QUEUED";
  }
  return std::string(ToString(state));
}

Cell GetCell(const RunRecord& run, const std::string& username, Field field) {
  const experiment::Trial& trial = run.trial;
  switch (field) {
    case Field::kRunId:
      return Number(trial.id);
    case Field::kExperimentId:
      return Number(trial.experiment);
    case Field::kLocalId:
      return absl::StrCat(run.project_key, "-", trial.id.value());
    case Field::kStartTime:
      return trial.created_at;
    case Field::kEndTime:
      return Optional(trial.ended_at);
    case Field::kDuration:
      return Duration(trial.created_at, trial.ended_at);
    case Field::kState:
      return std::string(ToString(trial.state));
    case Field::kExternalId:
      return Optional(trial.external_id);
    case Field::kLogPolicy:
      return trial.log_policy.empty() ? Cell() : Cell(trial.log_policy);
    case Field::kSearcherMetricValue:
      return Optional(trial.best_metric);
    case Field::kCheckpointSize:
      return static_cast<double>(run.checkpoint_size);
    case Field::kCheckpointCount:
      return static_cast<double>(run.checkpoint_count);
    default:
      return Shared(run, username, field);
  }
}

Cell GetCell(const ExperimentRecord& record, const RunRecord& run, Field field) {
  const experiment::Experiment& e = record.experiment;
  switch (field) {
    case Field::kExperimentId:
      return Number(e.id);
    case Field::kStartTime:
      return e.created_at;
    case Field::kEndTime:
      return Optional(e.ended_at);
    case Field::kDuration:
      return Duration(e.created_at, e.ended_at);
    case Field::kState:
      return std::string(ToString(e.state));
    case Field::kNumTrials:
      return static_cast<double>(record.num_trials);
    case Field::kSearcherMetricValue:
      return Optional(e.best_metric);
    case Field::kCheckpointSize:
      return static_cast<double>(record.checkpoint_size);
    case Field::kCheckpointCount:
      return static_cast<double>(record.checkpoint_count);
    default:
      return Shared(run, record.username, field);
  }
}

// A row and its cells in the columns.
template <class Row>
struct Found {
  Row row;
  int32_t id = 0;
  Cells cells;
};

template <class Row>
void SortFound(std::vector<Found<Row>>& found, const std::vector<SortKey>& order) {
  const bool newest_first = order.empty() || order.back().descending;
  std::sort(found.begin(), found.end(), [&](const Found<Row>& a, const Found<Row>& b) {
    for (const SortKey& key : order) {
      const int by = Compare(a.cells(key.column), b.cells(key.column), key.descending);
      if (by != 0) return by < 0;
    }
    return newest_first ? a.id > b.id : a.id < b.id;
  });
}

Cells GetCells(const RunRecord& run, const std::function<Cell(Field)>& fixed) {
  return [run, fixed, leaves = Leaves(run)](const Column& column) -> Cell {
    if (column.kind == Column::Kind::kField) return fixed(column.field);
    if (column.kind == Column::Kind::kMetric) return Statistic(run, column);
    const auto it = leaves.find(column.key);
    return it == leaves.end() ? Cell() : it->second;
  };
}

}  // namespace

bool FakeRuns::IsIn(const experiment::Experiment& e, const RunQuery& query) const {
  if (e.state == model::ExperimentState::kDeleted) return false;
  if (query.project != 0 && query.project != e.project) return false;
  const int32_t workspace = db_.WithCurrentProject(e).workspace;
  return !query.visible || std::count(query.visible->begin(), query.visible->end(), workspace) > 0;
}

RunRecord FakeRuns::Read(const experiment::Trial& trial) const {
  RunRecord run;
  run.trial = trial;
  const experiment::Experiment e = db_.WithCurrentProject(db_.experiments.at(trial.experiment));
  run.name = e.config->name;
  run.description = e.config->description;
  run.labels = e.config->labels;
  run.owner = e.owner;
  run.searcher = e.config->searcher.name;
  run.searcher_metric = e.config->searcher.metric;
  run.forked_from = e.forked_from;
  run.unmanaged = e.unmanaged;
  run.external_experiment_id = e.external_id;
  run.resource_pool = e.queue.resource_pool;
  run.progress = e.progress;
  run.archived = db_.archived.contains(e.id);
  const ProjectRecord& project = db_.workspace_rows.projects.at(e.project);
  const WorkspaceRecord& workspace = db_.workspace_rows.workspaces.at(project.workspace);
  run.project = project.id;
  run.project_name = project.name;
  run.project_key = project.key;
  run.workspace = workspace.id;
  run.workspace_name = workspace.name;
  run.parent_archived = project.archived || workspace.archived;
  TrialRecord record = db_.Record(trial);
  run.checkpoint_count = record.checkpoint_count;
  run.checkpoint_size = record.checkpoint_size;
  run.metadata = std::move(record.metadata);
  run.metrics = std::move(record.metrics);
  return run;
}

absl::StatusOr<RunPage> FakeRuns::SearchRuns(const RunQuery& query) {
  std::lock_guard lock(db_.mutex);
  std::vector<Found<RunRecord>> found;
  for (const auto& [id, trial] : db_.trials) {
    const auto e = db_.experiments.find(trial.experiment);
    if (e == db_.experiments.end() || !IsIn(e->second, query)) continue;
    const RunRecord run = Read(trial);
    const std::string username = db_.GetUsername(run.owner);
    const Cells cells =
        GetCells(run, [run, username](Field field) { return GetCell(run, username, field); });
    if (Matches(query.search.filter, cells)) found.push_back({run, id.value(), cells});
  }
  SortFound(found, query.search.order);
  RunPage page;
  page.total = static_cast<int>(found.size());
  const Range range = Resolve(query.window, page.total);
  for (int i = range.begin; i < range.end; ++i) page.runs.push_back(found[i].row);
  return page;
}

absl::StatusOr<FoundExperiments> FakeRuns::SearchExperiments(const RunQuery& query) {
  std::lock_guard lock(db_.mutex);
  std::vector<Found<model::ExperimentId>> found;
  for (const auto& [id, e] : db_.experiments) {
    if (!IsIn(e, query)) continue;
    experiment::Trial shown;
    shown.experiment = id;
    std::set<model::TrialState> states;
    for (const auto& [unused, trial] : db_.trials) {
      if (trial.experiment != id) continue;
      if (shown.id.value() == 0 || trial.id == e.best_trial) shown = trial;
      states.insert(trial.state);
    }
    const std::string state = ShownState(e.state, states);
    const RunRecord run = Read(shown);
    const ExperimentRecord record = db_.Record(e);
    const Cells cells = GetCells(run, [run, record, state](Field field) -> Cell {
      if (field == Field::kShownState) return state;
      return GetCell(record, run, field);
    });
    if (Matches(query.search.filter, cells)) found.push_back({id, id.value(), cells});
  }
  SortFound(found, query.search.order);
  FoundExperiments page;
  page.total = static_cast<int>(found.size());
  const Range range = Resolve(query.window, page.total);
  for (int i = range.begin; i < range.end; ++i) page.ids.push_back(found[i].row);
  return page;
}

std::vector<RunRecord> FakeRuns::ListProjectRuns(int32_t project) const {
  std::vector<RunRecord> runs;
  for (const auto& [id, trial] : db_.trials) {
    const auto e = db_.experiments.find(trial.experiment);
    if (e == db_.experiments.end() || !IsIn(e->second, {.project = project})) continue;
    runs.push_back(Read(trial));
  }
  return runs;
}

absl::StatusOr<std::vector<ValueColumn>> FakeRuns::ListValueColumns(int32_t project) {
  std::lock_guard lock(db_.mutex);
  std::map<std::string, bool> columns;
  for (const RunRecord& run : ListProjectRuns(project)) {
    for (const auto& [key, cell] : Leaves(run)) {
      columns[key] |= std::holds_alternative<double>(cell);
    }
  }
  std::vector<ValueColumn> all;
  for (const auto& [key, number] : columns) all.push_back({key, number});
  return all;
}

absl::StatusOr<std::vector<MetricName>> FakeRuns::ListMetricNames(int32_t project) {
  DET_ASSIGN_OR_RETURN(const std::vector<MetricRange> ranges, ListMetricRanges(project));
  std::vector<MetricName> names;
  for (const MetricRange& range : ranges) names.push_back(range.name);
  return names;
}

absl::StatusOr<std::vector<MetricName>> FakeRuns::ListMetricNames(
    const std::vector<model::ExperimentId>& experiments) {
  std::lock_guard lock(db_.mutex);
  std::set<MetricName> names;
  for (const auto& [id, trial] : db_.trials) {
    if (std::count(experiments.begin(), experiments.end(), trial.experiment) == 0) continue;
    for (const auto& [name, summary] : db_.Summarize(id)) names.insert(name);
  }
  return std::vector<MetricName>(names.begin(), names.end());
}

absl::StatusOr<std::vector<MetricRange>> FakeRuns::ListMetricRanges(int32_t project) {
  std::lock_guard lock(db_.mutex);
  std::map<MetricName, MetricRange> ranges;
  for (const RunRecord& run : ListProjectRuns(project)) {
    for (const auto& [name, summary] : run.metrics) {
      if (summary.count == 0) continue;
      const auto [it, first] = ranges.emplace(name, MetricRange{name, summary.min, summary.max});
      it->second.min = std::min(it->second.min, summary.min);
      it->second.max = std::max(it->second.max, summary.max);
    }
  }
  std::vector<MetricRange> all;
  for (const auto& [name, range] : ranges) all.push_back(range);
  return all;
}

absl::StatusOr<std::vector<std::string>> FakeRuns::ListMetadataValues(int32_t project,
                                                                      const std::string& key) {
  std::lock_guard lock(db_.mutex);
  std::set<std::string> values;
  for (const RunRecord& run : ListProjectRuns(project)) {
    const auto leaves = Leaves(run);
    const auto it = leaves.find("metadata." + key);
    if (it == leaves.end()) continue;
    if (const auto* text = std::get_if<std::string>(&it->second)) values.insert(*text);
  }
  std::vector<std::string> all(values.begin(), values.end());
  if (all.size() > kMaxValues) all.resize(kMaxValues);
  return all;
}

}  // namespace det::store
