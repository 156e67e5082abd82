#include "master/store/testing/fake_store.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/testing/fake_access.h"
#include "master/store/testing/fake_database.h"
#include "master/store/testing/fake_detached.h"
#include "master/store/testing/fake_garbage_collection.h"
#include "master/store/testing/fake_governance.h"
#include "master/store/testing/fake_groups.h"
#include "master/store/testing/fake_models.h"
#include "master/store/testing/fake_projects.h"
#include "master/store/testing/fake_runs.h"
#include "master/store/testing/fake_sort.h"
#include "master/store/testing/fake_streamed_records.h"
#include "master/store/testing/fake_templates.h"
#include "master/store/testing/fake_users.h"
#include "master/store/testing/fake_webhooks.h"
#include "master/store/testing/fake_workspaces.h"

namespace det::store {
namespace {

bool Contains(const auto& list, const auto& item) {
  return list.empty() || std::find(list.begin(), list.end(), item) != list.end();
}

template <class Id>
absl::Status NoSuch(const char* what, const Id& id) {
  return absl::NotFoundError(absl::StrCat(what, " ", ToString(id), " not found"));
}

template <class T>
std::vector<T> CutPage(std::vector<T> items, const Window& window) {
  const Range range = Resolve(window, static_cast<int>(items.size()));
  return {items.begin() + range.begin, items.begin() + range.end};
}

bool HasIgnoringCase(const std::string& part, const std::string& text) {
  return absl::StrContains(absl::AsciiStrToLower(text), absl::AsciiStrToLower(part));
}

bool Matches(const ExperimentQuery& query, const ExperimentRecord& record) {
  const experiment::Experiment& e = record.experiment;
  const std::vector<std::string>& labels = e.config->labels;
  return HasIgnoringCase(query.name, e.config->name) &&
         HasIgnoringCase(query.description, e.config->description) &&
         Contains(query.owner_ids, e.owner) && Contains(query.ids, e.id) &&
         (query.not_ids.empty() || !Contains(query.not_ids, e.id)) &&
         (!query.min_id || e.id.value() >= *query.min_id) &&
         (!query.max_id || e.id.value() <= *query.max_id) &&
         (query.project == 0 || query.project == e.project) &&
         (!query.visible ||
          std::count(query.visible->begin(), query.visible->end(), e.workspace)) &&
         std::all_of(query.labels.begin(), query.labels.end(), [&](const std::string& label) {
           return std::count(labels.begin(), labels.end(), label) > 0;
         });
}

bool Matches(const LogQuery& query, const model::LogLine& line) {
  if (line.task != query.task || !Contains(query.allocations, line.allocation.value()) ||
      !Contains(query.agents, line.agent) || !Contains(query.levels, line.level) ||
      !Contains(query.stdtypes, line.stdtype) || !Contains(query.sources, line.source)) {
    return false;
  }
  if (!Contains(query.ranks, line.rank.value_or(-1))) return false;
  const std::string& container = line.container.empty() ? line.allocation.value() : line.container;
  if (!Contains(query.containers, container)) return false;
  if (query.before && line.time >= *query.before) return false;
  if (query.after && line.time <= *query.after) return false;
  const std::string small = absl::AsciiStrToLower(line.text);
  if (!absl::StrContains(small, absl::AsciiStrToLower(query.contains))) return false;
  return std::all_of(query.parts.begin(), query.parts.end(),
                     [&small](const std::string& part) { return absl::StrContains(small, part); });
}

// If the latest checkpoint of a trial was deleted, uses the latest one that was not.
void UseCompletedCheckpoint(const FakeDatabase& database, experiment::Trial& trial) {
  constexpr auto kCompleted = model::CheckpointState::kCompleted;
  if (!trial.latest_checkpoint) return;
  const auto latest = database.checkpoints.find(*trial.latest_checkpoint);
  if (latest == database.checkpoints.end() || latest->second.state == kCompleted) return;
  const model::CheckpointRecord* newest = nullptr;
  const auto order = [](const model::CheckpointRecord* c) {
    return std::pair(c->steps_completed, c->time);
  };
  for (const auto& [id, checkpoint] : database.checkpoints) {
    if (checkpoint.trial != trial.id || checkpoint.state != kCompleted) continue;
    if (newest == nullptr || order(&checkpoint) > order(newest)) newest = &checkpoint;
  }
  trial.latest_checkpoint.reset();
  if (newest != nullptr) trial.latest_checkpoint = newest->id;
  trial.steps_completed = newest == nullptr ? 0 : newest->steps_completed;
}

}  // namespace

std::shared_ptr<FakeDatabase> MakeFakeDatabase() { return std::make_shared<FakeDatabase>(); }

FakeStore::FakeStore(std::shared_ptr<FakeDatabase> database)
    : database_(std::move(database)),
      access_(std::make_unique<FakeAccess>(&database_->mutex, &database_->access,
                                           [this] { return CheckEpoch(); })),
      garbage_collection_(std::make_unique<FakeGarbageCollection>(database_.get(),
                                                                  [this] { return CheckEpoch(); })),
      users_(std::make_unique<FakeUsers>(&database_->mutex, &database_->user_rows,
                                         &database_->access, [this] { return CheckEpoch(); })),
      templates_(std::make_unique<FakeTemplates>(database_.get(), [this] { return CheckEpoch(); })),
      groups_(std::make_unique<FakeGroups>(database_.get(), [this] { return CheckEpoch(); })),
      detached_(std::make_unique<FakeDetached>(database_.get(), [this] { return CheckEpoch(); })),
      workspaces_(
          std::make_unique<FakeWorkspaces>(database_.get(), [this] { return CheckEpoch(); })),
      projects_(std::make_unique<FakeProjects>(database_.get(), [this] { return CheckEpoch(); })),
      models_(std::make_unique<FakeModels>(database_.get(), [this] { return CheckEpoch(); })),
      streamed_records_(std::make_unique<FakeStreamedRecords>(database_.get())),
      runs_(std::make_unique<FakeRuns>(database_.get(), [this] { return CheckEpoch(); })),
      audit_(std::make_unique<FakeAudit>(database_.get(), [this] { return CheckEpoch(); })),
      stored_responses_(
          std::make_unique<FakeStoredResponses>(database_.get(), [this] { return CheckEpoch(); })),
      cluster_message_(
          std::make_unique<FakeClusterMessage>(database_.get(), [this] { return CheckEpoch(); })),
      usage_(std::make_unique<FakeUsage>(database_.get())),
      webhooks_(std::make_unique<FakeWebhooks>(database_.get(), [this] { return CheckEpoch(); })),
      config_policies_(
          std::make_unique<FakeConfigPolicies>(database_.get(), [this] { return CheckEpoch(); })) {}
FakeStore::~FakeStore() = default;

absl::StatusOr<cluster::Image> FakeStore::Load() {
  std::lock_guard lock(database_->mutex);
  epoch_ = ++database_->lease.epoch;
  database_->lease.leader.clear();
  database_->commit_seq = 0;
  std::erase_if(database_->contexts,
                [this](const auto& context) { return !database_->UsesContext(context.first); });
  cluster::Image image;
  image.last_experiment = database_->highest_deleted.last_experiment;
  image.last_trial = database_->highest_deleted.last_trial;
  image.last_submitted = database_->highest_deleted.last_submitted;
  for (const auto& [id, experiment] : database_->experiments) {
    image.last_experiment = std::max(image.last_experiment, id.value());
    if (IsTerminal(experiment.state) || experiment.unmanaged) continue;
    database_->AddTo(image, experiment);
  }
  std::sort(image.trials.begin(), image.trials.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  for (const auto& [id, trial] : database_->trials) {
    image.last_trial = std::max(image.last_trial, id.value());
  }
  for (const auto& [id, allocation] : database_->allocations) {
    image.last_submitted = std::max(image.last_submitted, allocation.submitted);
    if (allocation.state != model::AllocationState::kTerminated) {
      image.allocations.push_back(allocation);
    }
  }
  database_->AddScheduling(image);
  return image;
}

absl::Status FakeStore::Commit(int64_t sequence, const std::vector<cluster::Change>& changes) {
  std::unique_lock lock(database_->mutex);
  if (epoch_ == 0) return absl::FailedPreconditionError("Commit before Load; load first");
  if (is_fenced()) {
    lock.unlock();
    return ReportFenced();
  }
  if (sequence <= database_->commit_seq) return absl::OkStatus();
  database_->commit_seq = sequence;
  for (const cluster::Change& change : changes) {
    std::visit([this](const auto& kind) { database_->Apply(kind); }, Canonical(change));
  }
  return absl::OkStatus();
}

void FakeStore::AddMetrics(std::vector<model::MetricReport> reports, Done done) {
  absl::Status stored = CheckEpoch();
  if (stored.ok()) {
    std::lock_guard lock(database_->mutex);
    for (const model::MetricReport& report : reports) {
      stored.Update(database_->Add(Canonical(report)));
    }
  }
  done(std::move(stored));
}

void FakeStore::AddLogLines(std::vector<model::LogLine> lines, Done done) {
  absl::Status stored = CheckEpoch();
  if (stored.ok()) {
    std::lock_guard lock(database_->mutex);
    for (const model::LogLine& line : lines) database_->Add(Canonical(line));
  }
  done(std::move(stored));
}

absl::Status FakeStore::PutContext(const std::string& hash, const std::string& tgz) {
  DET_RETURN_IF_ERROR(CheckEpoch());
  std::lock_guard lock(database_->mutex);
  database_->contexts.emplace(hash, tgz);
  return absl::OkStatus();
}

absl::StatusOr<std::string> FakeStore::GetContext(const std::string& hash) {
  std::lock_guard lock(database_->mutex);
  const auto it = database_->contexts.find(hash);
  if (it == database_->contexts.end()) {
    return absl::NotFoundError(absl::StrCat("context ", hash, " not found"));
  }
  return it->second;
}

GarbageCollection& FakeStore::garbage_collection() { return *garbage_collection_; }

absl::StatusOr<ExperimentRecord> FakeStore::GetExperiment(model::ExperimentId id) {
  std::lock_guard lock(database_->mutex);
  const auto it = database_->experiments.find(id);
  if (it == database_->experiments.end()) return NoSuch("experiment", id);
  return database_->Record(it->second);
}

absl::StatusOr<cluster::Image> FakeStore::LoadExperiment(model::ExperimentId id) {
  std::lock_guard lock(database_->mutex);
  const auto it = database_->experiments.find(id);
  if (it == database_->experiments.end()) return NoSuch("experiment", id);
  cluster::Image image;
  database_->AddTo(image, it->second);
  for (experiment::Trial& trial : image.trials) UseCompletedCheckpoint(*database_, trial);
  return image;
}

absl::StatusOr<ExperimentPage> FakeStore::ListExperiments(const ExperimentQuery& query) {
  std::lock_guard lock(database_->mutex);
  std::vector<ExperimentRecord> found;
  for (const auto& [id, experiment] : database_->experiments) {
    ExperimentRecord record = database_->Record(experiment);
    if (!Matches(query, record) ||
        (query.states.empty() && experiment.state == model::ExperimentState::kDeleted) ||
        !Contains(query.states, experiment.state) || !Contains(query.usernames, record.username) ||
        (!query.request_id.empty() && query.request_id != experiment.request_id) ||
        (query.archived &&
         *query.archived != (record.archived || (query.project == 0 && record.parent_archived)))) {
      continue;
    }
    found.push_back(std::move(record));
  }
  Sort(found, query);
  const int total = static_cast<int>(found.size());
  return ExperimentPage{CutPage(std::move(found), query.window), total};
}

absl::StatusOr<TrialRecord> FakeStore::GetTrial(model::TrialId id) {
  std::lock_guard lock(database_->mutex);
  const auto it = database_->trials.find(id);
  if (it == database_->trials.end()) return NoSuch("trial", id);
  return database_->Record(it->second);
}

absl::StatusOr<TrialRecord> FakeStore::GetBareTrial(model::TrialId id) {
  std::lock_guard lock(database_->mutex);
  const auto it = database_->trials.find(id);
  if (it == database_->trials.end()) return NoSuch("trial", id);
  return TrialRecord{.trial = it->second};
}

absl::StatusOr<std::vector<model::TrialId>> FakeStore::ListTrialIds(model::ExperimentId id) {
  std::lock_guard lock(database_->mutex);
  std::vector<model::TrialId> ids;
  for (const auto& [trial_id, trial] : database_->trials) {
    if (trial.experiment == id) ids.push_back(trial_id);
  }
  return ids;
}

absl::StatusOr<TrialPage> FakeStore::ListTrials(const TrialQuery& query) {
  std::lock_guard lock(database_->mutex);
  std::vector<TrialRecord> found;
  for (const auto& [id, trial] : database_->trials) {
    const bool matches = query.warm_start    ? trial.warm_start == query.warm_start
                         : query.ids.empty() ? trial.experiment == query.experiment
                                             : Contains(query.ids, id);
    if (!matches || !Contains(query.states, trial.state)) continue;
    found.push_back(query.bare ? TrialRecord{.trial = trial} : database_->Record(trial));
  }
  Sort(found, query);
  const int total = static_cast<int>(found.size());
  return TrialPage{CutPage(std::move(found), query.window), total};
}

absl::StatusOr<std::vector<experiment::Allocation>> FakeStore::ListAllocations(
    const model::TaskId& task) {
  std::lock_guard lock(database_->mutex);
  std::vector<experiment::Allocation> found;
  for (const auto& [id, allocation] : database_->allocations) {
    if (allocation.task == task) found.push_back(allocation);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.run_id < b.run_id; });
  return found;
}

absl::StatusOr<std::map<model::ExperimentId, absl::Duration>> FakeStore::GetMeanRunTimes(
    const std::vector<model::ExperimentId>& experiments, int newest) {
  std::map<model::ExperimentId, absl::Duration> means;
  for (const model::ExperimentId& id : experiments) {
    const auto page = ListTrials({.experiment = id,
                                  .window = {.offset = 0, .limit = newest},
                                  .sort = TrialQuery::Sort::kEndTime,
                                  .descending = true,
                                  .states = {model::TrialState::kCompleted}});
    if (!page.ok()) return page.status();
    std::lock_guard lock(database_->mutex);
    absl::Duration sum;
    for (const TrialRecord& record : page->trials) {
      for (const auto& [unused, a] : database_->allocations) {
        if (a.task != record.trial.task || !a.started_at || !a.ended_at) continue;
        sum += *a.ended_at - *a.started_at;
      }
    }
    if (!page->trials.empty()) means[id] = sum / static_cast<int64_t>(page->trials.size());
  }
  return means;
}

absl::StatusOr<experiment::Allocation> FakeStore::GetAllocation(const model::AllocationId& id) {
  std::lock_guard lock(database_->mutex);
  const auto it = database_->allocations.find(id);
  if (it == database_->allocations.end()) return NoSuch("allocation", id);
  return it->second;
}

absl::StatusOr<std::vector<model::MetricReport>> FakeStore::ReadMetrics(const MetricQuery& query) {
  const auto is_later = [&query](const model::MetricReport& report) {
    if (!query.after) return true;
    const auto place = std::tie(report.trial, report.group, report.steps_completed);
    const auto after = std::tie(query.after->trial, query.after->group, query.after->steps);
    return query.descending ? place < after : place > after;
  };
  std::lock_guard lock(database_->mutex);
  std::vector<model::MetricReport> found;
  for (const model::TrialId trial : std::set(query.trials.begin(), query.trials.end())) {
    for (model::MetricReport& report : database_->ListMetrics(trial, query.group)) {
      if (is_later(report)) found.push_back(std::move(report));
    }
  }
  if (query.descending) std::reverse(found.begin(), found.end());
  const auto limit = static_cast<size_t>(query.limit);
  if (limit > 0 && found.size() > limit) found.erase(found.begin() + query.limit, found.end());
  return found;
}

absl::StatusOr<int64_t> FakeStore::CountMetrics(model::TrialId trial, const std::string& group) {
  std::lock_guard lock(database_->mutex);
  return static_cast<int64_t>(database_->ListMetrics(trial, group).size());
}

absl::StatusOr<CheckpointEntry> FakeStore::GetCheckpoint(const model::CheckpointId& id) {
  std::lock_guard lock(database_->mutex);
  const auto it = database_->checkpoints.find(id);
  if (it == database_->checkpoints.end()) return NoSuch("checkpoint", id);
  for (CheckpointEntry& entry : database_->ListCheckpoints(it->second.trial)) {
    if (entry.checkpoint.id == id) return std::move(entry);
  }
  return NoSuch("checkpoint", id);
}

absl::StatusOr<CheckpointPage> FakeStore::ListCheckpoints(const CheckpointQuery& query) {
  std::lock_guard lock(database_->mutex);
  std::vector<CheckpointEntry> found;
  for (const auto& [id, trial] : database_->trials) {
    if ((query.trial && *query.trial != id) ||
        (query.experiment && *query.experiment != trial.experiment)) {
      continue;
    }
    for (CheckpointEntry& entry : database_->ListCheckpoints(id)) {
      const bool fits = Contains(query.states, entry.checkpoint.state) &&
                        Contains(query.ids, entry.checkpoint.id);
      if (fits) found.push_back(std::move(entry));
    }
  }
  Sort(found, query, [this](model::ExperimentId id) {
    return database_->experiments.at(id).config->searcher.smaller_is_better;
  });
  const int total = static_cast<int>(found.size());
  return CheckpointPage{CutPage(std::move(found), query.window), total};
}

absl::StatusOr<std::vector<LogRecord>> FakeStore::ListLogs(const LogQuery& query) {
  std::lock_guard lock(database_->mutex);
  std::vector<LogRecord> found;
  for (const LogRecord& record : database_->logs) {
    if (record.id <= query.after_id) continue;
    if (query.before_id > 0 && record.id >= query.before_id) continue;
    if (Matches(query, record.line)) found.push_back(record);
  }
  if (query.descending) std::reverse(found.begin(), found.end());
  const size_t limit = std::max(query.limit, 0);
  if (found.size() > limit) found.erase(found.begin() + limit, found.end());
  return found;
}

absl::StatusOr<std::string> FakeStore::GetOrSetProperty(const std::string& key,
                                                        const std::string& value_if_absent) {
  DET_RETURN_IF_ERROR(CheckEpoch());
  std::lock_guard lock(database_->mutex);
  return database_->properties.emplace(key, value_if_absent).first->second;
}

absl::Status FakeStore::Ping() { return absl::OkStatus(); }

}  // namespace det::store
