#include "master/store/testing/fake_database.h"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "master/core/experiment/merge_report.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/testing/fake_sort.h"

namespace det::store {
namespace {

// Limits of MetricSummary.
constexpr size_t kMaxNameLength = 200;
constexpr size_t kMaxNewestLength = 1000;

// Equivalent to the SQL function json_typeof().
std::string GetJsonType(const model::Value& value) {
  if (value.is_null()) return "null";
  if (value.AsBool() != nullptr) return "boolean";
  if (value.AsString() != nullptr) return "string";
  if (value.AsList() != nullptr) return "array";
  return value.AsObject() != nullptr ? "object" : "number";
}

}  // namespace

void FakeDatabase::Apply(const cluster::PutExperiment& put) {
  const auto known = experiments.find(put.experiment.id);
  int32_t project = known == experiments.end() ? put.experiment.project : known->second.project;
  if (!workspace_rows.projects.contains(project)) project = kUncategorized;  // deleted concurrently
  experiments[put.experiment.id] = put.experiment;
  experiments[put.experiment.id].project = project;
  archived.erase(put.experiment.id);
  retained.erase(put.experiment.id);
}

void FakeDatabase::Apply(const cluster::PutSearcher& put) {
  const auto [it, inserted] = searchers.emplace(put.experiment, put);
  if (!inserted && it->second.sequence <= put.sequence) it->second = put;
  std::erase_if(searcher_events, [&](const auto& event) {
    return event.first.first == put.experiment && event.first.second <= put.sequence;
  });
}

void FakeDatabase::Apply(const cluster::AddCheckpoint& add) {
  // A trial cannot replace the checkpoint of another trial.
  const auto [it, inserted] = checkpoints.emplace(add.checkpoint.id, add.checkpoint);
  const model::CheckpointState state = it->second.state;
  if (inserted || it->second.trial != add.checkpoint.trial) return;
  if (state == model::CheckpointState::kError) return;
  if (state == model::CheckpointState::kPartiallyDeleted) return;
  it->second = add.checkpoint;
  it->second.state = state;
}

absl::Status FakeDatabase::Add(const model::MetricReport& report) {
  const auto [stored, is_new] = metrics.emplace(GetMetricKey(report), report);
  if (is_new) return absl::OkStatus();
  return experiment::MergeReport(stored->second, report).status();
}

void FakeDatabase::Add(const model::LogLine& line) {
  if (IsDeleted(line.task)) return;
  if (line.sequence > 0 &&
      !log_sequences.emplace(line.allocation, line.agent, line.sequence).second) {
    return;
  }
  logs.push_back({++last_log, line});
}

void FakeDatabase::Apply(const cluster::SetProject& set) {
  const auto e = experiments.find(set.experiment);
  if (e == experiments.end() || !workspace_rows.projects.contains(set.to.project)) return;
  cluster::Put(set.to, e->second);
}

void FakeDatabase::Apply(const cluster::SetExperimentDetails& set) {
  const auto e = experiments.find(set.experiment);
  if (e == experiments.end()) return;
  cluster::Put(set.details, e->second);
  if (set.details.notes) workspace_rows.experiment_notes[set.experiment] = *set.details.notes;
}

void FakeDatabase::Apply(const cluster::SetArchived& set) {
  if (set.archived) {
    archived.insert(set.experiment);
  } else {
    archived.erase(set.experiment);
  }
}

std::string FakeDatabase::GetUsername(model::UserId id) const {
  const auto user = user_rows.users.find(id);
  return user == user_rows.users.end() ? "" : user->second.username;
}

experiment::Experiment FakeDatabase::WithCurrentProject(
    const experiment::Experiment& experiment) const {
  experiment::Experiment placed = experiment;
  const auto project = workspace_rows.projects.find(experiment.project);
  if (project == workspace_rows.projects.end()) return placed;
  const WorkspaceRecord& workspace = workspace_rows.workspaces.at(project->second.workspace);
  cluster::Put(
      cluster::ProjectRef{workspace.id, project->first, workspace.name, project->second.name},
      placed);
  return placed;
}

void FakeDatabase::Apply(const cluster::PutAllocation& put) {
  const experiment::Allocation& allocation = put.allocation;
  const auto had = allocations.find(allocation.id);
  const auto trial = trials.find(allocation.trial);
  if (trial != trials.end() && (had == allocations.end() || !had->second.started_at)) {
    const auto experiment = experiments.find(trial->second.experiment);
    if (experiment != experiments.end()) {
      started_in[allocation.id] = WithCurrentProject(experiment->second).workspace;
    }
  }
  allocations[allocation.id] = allocation;
}

WorkspaceRecord FakeDatabase::FindWorkspace(const experiment::Allocation& allocation,
                                            const experiment::Experiment& experiment) const {
  const auto started = started_in.find(allocation.id);
  const auto found = workspace_rows.workspaces.find(
      started == started_in.end() ? WithCurrentProject(experiment).workspace : started->second);
  return found == workspace_rows.workspaces.end() ? WorkspaceRecord() : found->second;
}

void FakeDatabase::AddTo(cluster::Image& image, const experiment::Experiment& experiment) const {
  const model::ExperimentId id = experiment.id;
  image.experiments.push_back(WithCurrentProject(experiment));
  if (searchers.contains(id)) image.searchers.emplace(id, searchers.at(id));
  for (const auto& [trial_id, trial] : trials) {
    if (trial.experiment == id) image.trials.push_back(trial);
  }
  for (const auto& [key, events] : searcher_events) {
    if (key.first == id) image.searcher_events.push_back(events);
  }
}

std::string FakeDatabase::FindHolder(const model::CheckpointId& id) const {
  std::string holder;
  const auto hold = [&](const std::string& by) {
    if (holder.empty() || by < holder) holder = by;
  };
  for (const auto& [of, e] : experiments) {
    if (e.warm_start == id && !IsDeletion(e.state)) hold("experiment " + ToString(of));
    if (IsTerminal(e.state)) continue;
    for (const auto& [number, t] : trials) {
      if (t.experiment != of || (t.latest_checkpoint != id && t.warm_start != id)) continue;
      hold("trial " + ToString(number));
    }
  }
  for (const auto& [key, version] : models.versions) {
    if (version.checkpoint == id) hold(GetHolderName(models.models.at(key.first).name, key.second));
  }
  return holder;
}

model::CheckpointStorageConfig FakeDatabase::GetStorage(const model::CheckpointRecord& checkpoint,
                                                        const experiment::Experiment& of) const {
  const int32_t id = checkpoint.storage.value_or(0);
  const bool registered = id >= 1 && id <= static_cast<int32_t>(checkpoint_storages.size());
  return registered ? ToStorageConfig(checkpoint_storages[id - 1]) : of.config->checkpoint_storage;
}

void FakeDatabase::DeleteUnlessHeld(model::CheckpointRecord& checkpoint) {
  using State = model::CheckpointState;
  if (checkpoint.state == State::kDeleted || !FindHolder(checkpoint.id).empty()) return;
  checkpoint.state = State::kDeleting;
  trims.erase(checkpoint.id);
}

bool FakeDatabase::IsDeleted(const model::TaskId& task) const {
  const model::ExperimentId id(std::atoi(task.value().c_str()));
  if (id.value() > highest_deleted.last_experiment) return false;
  const auto e = experiments.find(id);
  return e == experiments.end() || e->second.state == model::ExperimentState::kDeleted;
}

void FakeDatabase::Apply(const cluster::MarkDamaged& mark) {
  const auto it = checkpoints.find(mark.id);
  if (it == checkpoints.end() || it->second.trial != mark.trial) return;
  if (it->second.state != model::CheckpointState::kCompleted) return;
  it->second.state = model::CheckpointState::kError;
  (*it->second.metadata.MutableObject())["damage"] = mark.damage;
}

void FakeDatabase::Apply(const cluster::MarkDeleting& mark) {
  const auto e = experiments.find(mark.experiment);
  if (e == experiments.end()) return;
  for (auto& [id, checkpoint] : checkpoints) {
    if (BelongsTo(checkpoint, mark.experiment)) DeleteUnlessHeld(checkpoint);
  }
  e->second.state = model::ExperimentState::kDeleting;
  e->second.reason.clear();
}

void FakeDatabase::Apply(const cluster::PutRetention& put) {
  const auto e = experiments.find(put.experiment);
  if (e == experiments.end()) return;
  model::ExperimentConfig config = *e->second.config;
  experiment::SetRetentionPolicy(config.checkpoint_storage, put.policy);
  e->second.config = std::make_shared<const model::ExperimentConfig>(std::move(config));
  retained.erase(put.experiment);
}

void FakeDatabase::Apply(const cluster::DropCheckpoints& drop) {
  for (const model::CheckpointId& id : drop.ids) {
    if (checkpoints.contains(id)) DeleteUnlessHeld(checkpoints.at(id));
  }
}

void FakeDatabase::Apply(const cluster::TrimCheckpoint& trim) {
  using State = model::CheckpointState;
  const auto it = checkpoints.find(trim.id);
  if (it == checkpoints.end() || !FindHolder(trim.id).empty()) return;
  State& state = it->second.state;
  if (state == State::kDeleting || state == State::kDeleted) return;
  state = State::kPartiallyDeleted;
  trims[trim.id].insert(trim.globs.begin(), trim.globs.end());
}

void FakeDatabase::Apply(const cluster::ApplyRetention& retain) {
  const auto e = experiments.find(retain.experiment);
  if (e == experiments.end()) return;
  if (experiment::GetRetentionPolicy(e->second.config->checkpoint_storage) != retain.policy) return;
  Apply(cluster::DropCheckpoints{retain.drop});
  retained.insert(retain.experiment);
}

void FakeDatabase::AddScheduling(cluster::Image& image) const {
  for (const auto& [id, agent] : known_agents) image.known_agents.push_back(agent);
  for (const auto& [id, agent] : agents) image.agents.push_back(agent);
  for (const auto& [name, pool] : pools) image.pools.push_back(pool);
  image.default_pools = default_pools;
  for (const auto& [key, quota] : quotas) image.quotas.push_back(quota);
  absl::Time newest = absl::UnixEpoch();
  for (const auto& [id, a] : allocations) newest = std::max(newest, a.ended_at.value_or(newest));
  for (const DeletedRun& run : deleted_runs) newest = std::max(newest, *run.allocation.ended_at);
  cluster::Usage& usage = image.usage;
  usage.month =
      absl::FromCivil(absl::ToCivilMonth(newest, absl::UTCTimeZone()), absl::UTCTimeZone());
  const auto count = [&](const experiment::Allocation& a, const std::string& owner,
                         const std::string& workspace) {
    if (!a.ended_at || *a.ended_at <= usage.month || !a.started_at || a.granted <= 0) return;
    const absl::Duration held = *a.ended_at - std::max(*a.started_at, usage.month);
    const double used = a.granted * a.fraction * absl::ToDoubleSeconds(held);
    usage.users[owner] += used;
    usage.workspaces[workspace] += used;
  };
  for (const auto& [id, a] : allocations) {
    const auto trial = trials.find(a.trial);
    if (trial == trials.end()) continue;
    const auto e = experiments.find(trial->second.experiment);
    if (e == experiments.end()) continue;
    count(a, experiment::OwnerName(e->second), WithCurrentProject(e->second).config->workspace);
  }
  for (const DeletedRun& run : deleted_runs) count(run.allocation, run.owner, run.workspace);
}

std::vector<model::MetricReport> FakeDatabase::ListMetrics(model::TrialId trial,
                                                           const std::string& group) const {
  std::vector<model::MetricReport> found;
  for (auto it = metrics.lower_bound(MetricKey(trial, group, 0, 0));
       it != metrics.end() && it->second.trial == trial; ++it) {
    if (!group.empty() && it->second.group != group) break;
    const bool again = !found.empty() && found.back().group == it->second.group &&
                       found.back().steps_completed == it->second.steps_completed;
    if (again) found.pop_back();
    found.push_back(it->second);
  }
  return found;
}

std::vector<CheckpointEntry> FakeDatabase::ListCheckpoints(model::TrialId trial) const {
  std::vector<CheckpointEntry> entries;
  const auto owner = trials.find(trial);
  if (owner == trials.end()) return entries;
  const auto experiment = experiments.find(owner->second.experiment);
  if (experiment == experiments.end()) return entries;
  for (const auto& [id, checkpoint] : checkpoints) {
    if (checkpoint.trial != trial) continue;
    CheckpointEntry entry;
    entry.checkpoint = checkpoint;
    entry.experiment = experiment->first;
    entry.task = owner->second.task;
    entry.hparams = owner->second.hparams;
    for (const model::MetricReport& report : ListMetrics(trial, "")) {
      if (report.steps_completed != checkpoint.steps_completed) continue;
      if (report.group == "validation") entry.validation_metrics = report.metrics;
      if (report.group != "training") continue;
      entry.training_metrics = report.metrics;
      entry.training_batches = report.batch_metrics;
    }
    entry.searcher_metric =
        GetMetricNumber(entry.validation_metrics, experiment->second.config->searcher.metric);
    entries.push_back(std::move(entry));
  }
  return entries;
}

MetricSummaries FakeDatabase::Summarize(model::TrialId trial) const {
  MetricSummaries summaries;
  using Position = std::pair<int, int64_t>;
  std::map<MetricName, Position> last, last_number;
  std::map<std::string, Position> newest;
  for (auto it = metrics.lower_bound(MetricKey(trial, "", 0, 0));
       it != metrics.end() && it->second.trial == trial; ++it) {
    const model::MetricReport& report = it->second;
    if (report.metrics.AsObject() == nullptr) continue;
    const Position position(report.run_id, report.steps_completed);
    for (const auto& [metric, value] : *report.metrics.AsObject()) {
      const auto number = GetMetricNumber(report.metrics, metric);
      const bool is_large = number && std::isfinite(*number) && std::abs(*number) > 1e290;
      if (is_large || metric.size() > kMaxNameLength) continue;
      const MetricName name(report.group, metric);
      const std::string type = number ? "number" : GetJsonType(value);
      MetricSummary& summary = summaries.emplace(name, MetricSummary{.type = type}).first->second;
      summary.type = MergeTypes(summary.type, type);
      if (number && std::isfinite(*number)) {
        const bool first = summary.count++ == 0;
        summary.sum += *number;
        summary.min = first ? *number : std::min(summary.min, *number);
        summary.max = first ? *number : std::max(summary.max, *number);
        if (first || position >= last_number[name]) {
          summary.last = *number;
          last_number[name] = position;
        }
      } else if (number) {
        ++(std::isnan(*number) ? summary.nans
           : *number > 0       ? summary.infinities
                               : summary.negative_infinities);
      }
      newest[report.group] = std::max(newest[report.group], position);
      if (last.contains(name) && position < last[name]) continue;
      last[name] = position;
      summary.newest = value;
      if (number && std::isfinite(*number)) summary.newest = *number;
      if (value.ToJson().size() > kMaxNewestLength) summary.newest = {};
    }
  }
  for (auto& [name, summary] : summaries) {
    if (last[name] < newest[name.first]) summary.newest = {};
  }
  return summaries;
}

TrialRecord FakeDatabase::Record(const experiment::Trial& trial) const {
  TrialRecord record;
  record.trial = trial;
  record.metrics = Summarize(trial.id);
  std::pair<int, int64_t> newest;
  for (auto it = metrics.lower_bound(MetricKey(trial.id, "", 0, 0));
       it != metrics.end() && it->second.trial == trial.id; ++it) {
    const model::MetricReport& report = it->second;
    if (report.metrics.AsObject() == nullptr || report.metrics.AsObject()->empty()) continue;
    newest = std::max(newest, std::pair(report.run_id, report.steps_completed));
  }
  record.reported_steps = newest.second;
  if (const auto it = run_metadata.find(trial.id); it != run_metadata.end()) {
    record.metadata = it->second;
  }
  if (const auto it = trial_log_days.find(trial.id); it != trial_log_days.end()) {
    record.log_days = it->second;
  } else if (const auto set = log_days.find(trial.experiment); set != log_days.end()) {
    record.log_days = set->second;
  }
  for (const model::MetricReport& report : ListMetrics(trial.id, "validation")) {
    const auto order = std::pair(report.run_id, report.steps_completed);
    if (!record.latest_validation || order > std::pair(record.latest_validation->run_id,
                                                       record.latest_validation->steps_completed)) {
      record.latest_validation = report;
    }
    if (trial.best_metric && report.steps_completed == trial.best_steps) {
      record.best_validation = report;
    }
  }
  const std::vector<CheckpointEntry> entries = ListCheckpoints(trial.id);
  std::vector<const CheckpointEntry*> pointers;
  for (const CheckpointEntry& entry : entries) {
    if (entry.checkpoint.state == model::CheckpointState::kDeleted) continue;
    pointers.push_back(&entry);
    ++record.checkpoint_count;
    record.checkpoint_size += ComputeTotalSize(entry.checkpoint);
  }
  const auto experiment = experiments.find(trial.experiment);
  if (experiment == experiments.end()) return record;
  const bool smaller = experiment->second.config->searcher.smaller_is_better;
  if (const CheckpointEntry* best = FindBest(pointers, smaller)) {
    record.best_checkpoint = best->checkpoint;
  }
  return record;
}

ExperimentRecord FakeDatabase::Record(const experiment::Experiment& experiment) const {
  ExperimentRecord record;
  record.experiment = WithCurrentProject(experiment);
  record.archived = archived.contains(experiment.id);
  record.username = GetUsername(experiment.owner);
  const auto notes = workspace_rows.experiment_notes.find(experiment.id);
  if (notes != workspace_rows.experiment_notes.end()) record.notes = notes->second;
  const auto project = workspace_rows.projects.find(experiment.project);
  if (project != workspace_rows.projects.end()) {
    record.project_owner = project->second.owner;
    const auto workspace = workspace_rows.workspaces.find(project->second.workspace);
    record.parent_archived =
        project->second.archived ||
        (workspace != workspace_rows.workspaces.end() && workspace->second.archived);
  }
  for (const auto& [id, trial] : trials) {
    if (trial.experiment != experiment.id) continue;
    ++record.num_trials;
    for (const CheckpointEntry& entry : ListCheckpoints(id)) {
      if (entry.checkpoint.state == model::CheckpointState::kDeleted) continue;
      ++record.checkpoint_count;
      record.checkpoint_size += ComputeTotalSize(entry.checkpoint);
    }
  }
  if (const auto days = log_days.find(experiment.id); days != log_days.end()) {
    record.log_days = days->second;
  }
  const auto context = contexts.find(experiment.context_hash);
  if (context != contexts.end()) record.context_size = context->second.size();
  return record;
}

void Sort(std::vector<ExperimentRecord>& items, const ExperimentQuery& query) {
  using Record = ExperimentRecord;
  const auto by = [&](const auto& key) {
    SortBy(items, query.descending, key, [](const Record& r) { return r.experiment.id; });
  };
  using Sort = ExperimentQuery::Sort;
  switch (query.sort) {
    case Sort::kId:
      return by([](const Record& r) { return std::optional(r.experiment.id); });
    case Sort::kName:
      return by([](const Record& r) { return std::optional(r.experiment.config->name); });
    case Sort::kDescription:
      return by([](const Record& r) { return std::optional(r.experiment.config->description); });
    case Sort::kState:
      return by([](const Record& r) { return std::optional(ToString(r.experiment.state)); });
    case Sort::kStartTime:
      return by([](const Record& r) { return std::optional(r.experiment.created_at); });
    case Sort::kEndTime:
      return by([](const Record& r) { return r.experiment.ended_at; });
    case Sort::kNumTrials:
      return by([](const Record& r) { return std::optional(r.num_trials); });
    case Sort::kProgress:
      return by([](const Record& r) { return std::optional(r.experiment.progress); });
    case Sort::kUser:
      return by([](const Record& r) { return std::optional(r.username); });
    case Sort::kForkedFrom:
      return by([](const Record& r) { return r.experiment.forked_from; });
    case Sort::kResourcePool:
      return by([](const Record& r) { return std::optional(r.experiment.queue.resource_pool); });
    case Sort::kProject:
      return by([](const Record& r) { return std::optional(r.experiment.project); });
    case Sort::kCheckpointSize:
      return by([](const Record& r) { return std::optional(r.checkpoint_size); });
    case Sort::kCheckpointCount:
      return by([](const Record& r) { return std::optional(r.checkpoint_count); });
    case Sort::kBestMetric:
      return by([](const Record& r) { return r.experiment.best_metric; });
  }
}

void Sort(std::vector<TrialRecord>& items, const TrialQuery& query) {
  using Record = TrialRecord;
  const auto by = [&](const auto& key) {
    SortBy(items, query.descending, key, [](const Record& r) { return r.trial.id; });
  };
  using Sort = TrialQuery::Sort;
  switch (query.sort) {
    case Sort::kId:
      return by([](const Record& r) { return std::optional(r.trial.id); });
    case Sort::kState:
      return by([](const Record& r) { return std::optional(ToString(r.trial.state)); });
    case Sort::kStartTime:
      return by([](const Record& r) { return std::optional(r.trial.created_at); });
    case Sort::kEndTime:
      return by([](const Record& r) { return r.trial.ended_at; });
    case Sort::kBestMetric:
      return by([](const Record& r) { return r.trial.best_metric; });
    case Sort::kLatestMetric:
      return by([](const Record& r) { return r.trial.latest_metric; });
    case Sort::kSteps:
      return by([](const Record& r) { return std::optional(r.trial.steps_completed); });
    case Sort::kRestarts:
      return by([](const Record& r) { return std::optional(r.trial.restarts); });
    case Sort::kDuration:
      return by([](const Record& r) {
        return std::optional(r.trial.ended_at.value_or(absl::Now()) - r.trial.created_at);
      });
    case Sort::kCheckpointSize:
      return by([](const Record& r) { return std::optional(r.checkpoint_size); });
    case Sort::kLogDays:
      return by([](const Record& r) { return r.log_days; });
  }
}

void Sort(std::vector<CheckpointEntry>& items, const CheckpointQuery& query,
          const std::function<bool(model::ExperimentId)>& smaller_is_better) {
  using Entry = CheckpointEntry;
  const auto by = [&](const auto& key) {
    SortBy(items, query.descending, key,
           [](const Entry& e) { return std::pair(e.checkpoint.time, e.checkpoint.id); });
  };
  const auto finite = [](std::optional<double> number) {
    return number && std::isfinite(*number) ? number : std::nullopt;
  };
  using Sort = CheckpointQuery::Sort;
  switch (query.sort) {
    case Sort::kTime:
      return by([](const Entry& e) { return std::optional(e.checkpoint.time); });
    case Sort::kId:
      return by([](const Entry& e) { return std::optional(e.checkpoint.id); });
    case Sort::kTrial:
      return by([](const Entry& e) { return std::optional(e.checkpoint.trial); });
    case Sort::kSteps:
      return by([](const Entry& e) { return std::optional(e.checkpoint.steps_completed); });
    case Sort::kState:
      return by([](const Entry& e) { return std::optional(ToString(e.checkpoint.state)); });
    case Sort::kSearcherMetric:
      return by([&](const Entry& e) {
        std::optional<double> worse = finite(e.searcher_metric);
        if (worse && !smaller_is_better(e.experiment)) worse = -*worse;
        return worse;
      });
    case Sort::kMetric:
      return by([&](const Entry& e) {
        return finite(GetMetricNumber(e.validation_metrics, query.metric));
      });
  }
}

}  // namespace det::store
