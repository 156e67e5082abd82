// The rows behind FakeStore. Used only by FakeStore, which holds the mutex.
#ifndef MASTER_STORE_TESTING_FAKE_DATABASE_H_
#define MASTER_STORE_TESTING_FAKE_DATABASE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "master/core/cluster/change.h"
#include "master/core/cluster/image.h"
#include "master/core/model/ids.h"
#include "master/store/interfaces/detached.h"
#include "master/store/interfaces/groups.h"
#include "master/store/interfaces/lease.h"
#include "master/store/interfaces/models.h"
#include "master/store/interfaces/projects.h"
#include "master/store/interfaces/records.h"
#include "master/store/interfaces/templates.h"
#include "master/store/interfaces/webhooks.h"
#include "master/store/interfaces/workspaces.h"
#include "master/store/testing/fake_access.h"
#include "master/store/testing/fake_governance.h"
#include "master/store/testing/fake_users.h"

namespace det::store {

using MetricKey =
    std::tuple<model::TrialId, std::string, int64_t, int>;  // the last element is the attempt
inline MetricKey GetMetricKey(const model::MetricReport& report) {
  return {report.trial, report.group, report.steps_completed, report.run_id};
}

// The rows of the model registry, without names of owners and workspaces, and without counts.
struct ModelRows {
  std::map<int32_t, ModelRecord> models;
  std::map<std::pair<int32_t, int32_t>, ModelVersionRecord> versions;  // by model and number
  std::map<int32_t, int32_t> last_numbers;  // the last version number of each model
  int32_t last_model = 0;
  int32_t last_version = 0;  // the last ID
};

// The rows of webhooks and configuration policies.
struct WebhookRows {
  std::map<int32_t, WebhookRecord> webhooks;
  int32_t last_webhook = 0;
  int32_t last_trigger = 0;
  std::map<int64_t, DeliveryRecord> deliveries;
  int64_t last_delivery = 0;
  std::set<std::pair<model::TrialId, int32_t>> fired;
  std::map<std::pair<int32_t, std::string>, model::Value> policies;
};

// The rows of groups, created roles and the roles of groups.
struct GroupRows {
  std::map<int32_t, GroupRecord> groups;
  int32_t last_group = 0;
  std::set<GroupRole> assignments;
  std::map<model::RoleId, RoleRecord> roles;
  int32_t next_role = model::RoleId::kFirstCreated;
};

// The rows of workspaces and projects, without names of owners and without counts.
struct WorkspaceRows {
  WorkspaceRows() {
    WorkspaceRecord& workspace = workspaces[kUncategorized];
    workspace.id = kUncategorized;
    workspace.name = "Uncategorized";
    workspace.owner = model::UserId(1);
    workspace.immutable = true;
    ProjectRecord& project = projects[kUncategorized];
    project.id = kUncategorized;
    project.workspace = kUncategorized;
    project.name = "Uncategorized";
    project.key = "UNCAT";
    project.owner = model::UserId(1);
    project.immutable = true;
  }

  std::map<int32_t, WorkspaceRecord> workspaces;
  std::map<int32_t, ProjectRecord> projects;
  int32_t last_workspace = kUncategorized;
  int32_t last_project = kUncategorized;
  std::map<std::pair<model::UserId, int32_t>, absl::Time> pins, visits;
  std::map<model::ExperimentId, std::string> experiment_notes;
};

struct FakeDatabase {
  std::mutex mutex;
  LeaseRecord lease;
  int64_t commit_seq = 0;
  std::map<model::ExperimentId, experiment::Experiment> experiments;
  std::map<model::TrialId, experiment::Trial> trials;
  std::map<model::AllocationId, experiment::Allocation> allocations;
  std::map<model::ExperimentId, cluster::PutSearcher> searchers;
  std::map<std::pair<model::ExperimentId, int64_t>, cluster::AddSearcherEvents> searcher_events;
  std::map<MetricKey, model::MetricReport> metrics;
  std::map<model::CheckpointId, model::CheckpointRecord> checkpoints;
  std::map<model::CheckpointId, std::set<std::string>> trims;  // patterns of files to remove
  std::vector<LogRecord> logs;                                 // by id
  int64_t last_log = 0;
  std::set<std::tuple<model::AllocationId, std::string, int64_t>> log_sequences;
  std::map<std::string, std::string> contexts;
  UserRows user_rows;
  AccessRows access;
  GroupRows group_rows;
  std::map<std::string, std::string> properties;
  std::map<std::string, TemplateRecord> templates;
  WorkspaceRows workspace_rows;
  std::map<model::TrialId, model::Value> run_metadata;
  ModelRows models;
  GovernanceRows governance;
  WebhookRows webhook_rows;
  std::map<model::AgentId, model::Agent> known_agents;
  std::map<std::pair<model::AgentId, absl::Time>, cluster::AddCapacity> capacity;
  std::map<model::AgentId, model::AgentState> agents;
  std::map<std::string, model::ResourcePool> pools;
  cluster::PutDefaultPools default_pools;
  std::map<std::pair<model::Quota::Scope, std::string>, model::Quota> quotas;

  std::map<model::TrialId, absl::Time> last_activity;  // of unmanaged trials
  std::vector<model::Value> checkpoint_storages;       // the ID is the position, from 1
  std::map<std::tuple<model::TrialId, model::CheckpointId, std::string>, TrialSource> trial_sources;

  // More columns of experiments.
  std::set<model::ExperimentId> archived, retained;
  std::map<model::ExperimentId, int> log_days;  // log retention in days
  std::map<model::TrialId, int> trial_log_days;
  cluster::Image highest_deleted;  // only its last_* fields
  struct DeletedRun {
    experiment::Allocation allocation;
    model::ExperimentId experiment;
    std::string owner, workspace;
  };
  std::vector<DeletedRun> deleted_runs;
  std::map<model::AllocationId, int32_t> started_in;  // the workspace of an allocation

  void Apply(const cluster::PutExperiment& put);
  void Apply(const cluster::SetProject& set);
  void Apply(const cluster::SetExperimentDetails& set);
  void Apply(const cluster::SetArchived& set);
  void Apply(const cluster::MarkDeleting& mark);
  void Apply(const cluster::PutRetention& put);
  void Apply(const cluster::DropCheckpoints& drop);
  void Apply(const cluster::TrimCheckpoint& trim);
  void Apply(const cluster::ApplyRetention& retain);
  void Apply(const cluster::PutTrial& put) { trials[put.trial.id] = put.trial; }
  void Apply(const cluster::PutAllocation& put);
  // The workspace in which an allocation started; else that of its experiment.
  WorkspaceRecord FindWorkspace(const experiment::Allocation& allocation,
                                const experiment::Experiment& experiment) const;
  void Apply(const cluster::PutSearcher& put);
  void Apply(const cluster::AddSearcherEvents& add) {
    searcher_events.emplace(std::pair(add.experiment, add.sequence), add);
  }
  void Apply(const cluster::AddMetrics& add) {
    metrics.emplace(GetMetricKey(add.report), add.report);
  }
  void Apply(const cluster::AddCheckpoint& add);
  void Apply(const cluster::MarkDamaged& mark);
  void Apply(const cluster::AddLogLine& add) { Add(add.line); }
  void Apply(const cluster::RaiseWebhooks& raise) { Raise(raise.event); }
  void Apply(const cluster::PutAgent& put) { known_agents[put.agent.id] = put.agent; }
  void Apply(const cluster::DropAgent& drop) { known_agents.erase(drop.id); }
  void Apply(const cluster::AddCapacity& add) { capacity[{add.agent, add.at}] = add; }
  void Apply(const cluster::PutAgentState& put) { agents[put.agent.id] = put.agent; }
  void Apply(const cluster::PutPool& put) { pools[put.pool.name] = put.pool; }
  void Apply(const cluster::DropPool& drop) { pools.erase(drop.name); }
  void Apply(const cluster::PutDefaultPools& put) { default_pools = put; }
  void Apply(const cluster::SetQuota& set) {
    quotas[{set.quota.scope, set.quota.name}] = set.quota;
  }
  void Apply(const cluster::DropQuota& drop) { quotas.erase({drop.scope, drop.name}); }

  // Creates a delivery for each subscribed webhook; returns their number.
  int Raise(const model::WebhookEvent& event);

  // What uses the checkpoint: "experiment 7"; empty: nothing.
  std::string FindHolder(const model::CheckpointId& id) const;
  bool BelongsTo(const model::CheckpointRecord& checkpoint, model::ExperimentId id) const {
    return trials.contains(checkpoint.trial) && trials.at(checkpoint.trial).experiment == id;
  }
  // Where the files of a checkpoint are.
  model::CheckpointStorageConfig GetStorage(const model::CheckpointRecord& checkpoint,
                                            const experiment::Experiment& of) const;
  void DeleteUnlessHeld(model::CheckpointRecord& checkpoint);

  // A second report of a step adds its new metrics.
  absl::Status Add(const model::MetricReport& report);
  // Whether the task's experiment was deleted.
  bool IsDeleted(const model::TaskId& task) const;
  void Add(const model::LogLine& line);

  bool UsesContext(const std::string& hash) const {
    return std::any_of(experiments.begin(), experiments.end(),
                       [&](const auto& item) { return item.second.context_hash == hash; });
  }
  // Adds the experiment with its trials and its searcher.
  void AddTo(cluster::Image& image, const experiment::Experiment& experiment) const;
  // Adds agents, pools, quotas and their usage.
  void AddScheduling(cluster::Image& image) const;

  // Reports of each step, as the newest attempt reported it.
  std::vector<model::MetricReport> ListMetrics(model::TrialId trial,
                                               const std::string& group) const;
  // Equivalent to the tables metric_summaries and other_values.
  MetricSummaries Summarize(model::TrialId trial) const;
  std::vector<CheckpointEntry> ListCheckpoints(model::TrialId trial) const;
  std::string GetUsername(model::UserId id) const;
  // The experiment with the current names of its project and workspace.
  experiment::Experiment WithCurrentProject(const experiment::Experiment& experiment) const;
  TrialRecord Record(const experiment::Trial& trial) const;
  ExperimentRecord Record(const experiment::Experiment& experiment) const;
};

// Whether a workspace or project matches the query.
template <class Query, class Record>
bool MatchesQuery(const Query& query, const Record& record, int32_t workspace) {
  const auto is_in = [](const auto& list, const auto& item) {
    return std::find(list.begin(), list.end(), item) != list.end();
  };
  return absl::StrContains(absl::AsciiStrToLower(record.name), absl::AsciiStrToLower(query.name)) &&
         (query.exact_name.empty() || query.exact_name == record.name) &&
         (!query.archived || *query.archived == record.archived) &&
         (query.owners.empty() || is_in(query.owners, record.owner_name)) &&
         (query.owner_ids.empty() || is_in(query.owner_ids, record.owner)) &&
         (!query.visible || is_in(*query.visible, workspace));
}

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_DATABASE_H_
