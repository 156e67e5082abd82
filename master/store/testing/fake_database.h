// The rows behind FakeStore. Used only by FakeStore, which holds the mutex.
#ifndef MASTER_STORE_TESTING_FAKE_DATABASE_H_
#define MASTER_STORE_TESTING_FAKE_DATABASE_H_

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "master/core/cluster/change.h"
#include "master/core/cluster/image.h"
#include "master/store/interfaces/lease.h"
#include "master/store/interfaces/records.h"
#include "master/store/interfaces/templates.h"
#include "master/store/testing/fake_access.h"
#include "master/store/testing/fake_governance.h"
#include "master/store/testing/fake_model_rows.h"
#include "master/store/testing/fake_users.h"
#include "master/store/testing/fake_webhook_rows.h"
#include "master/store/testing/fake_workspace_rows.h"

namespace det::store {

using MetricKey =
    std::tuple<model::TrialId, std::string, int64_t, int>;  // the last element is the attempt

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

  // More columns of experiments.
  std::set<model::ExperimentId> archived, retained;
  std::map<model::ExperimentId, int> log_days;  // log retention in days
  std::map<model::TrialId, int> trial_log_days;
  cluster::Image highest_deleted;  // only its last_* fields
  struct DeletedRun {
    experiment::Allocation allocation;
    std::string owner, workspace;
  };
  std::vector<DeletedRun> deleted_runs;

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
  void Apply(const cluster::PutAllocation& put) { allocations[put.allocation.id] = put.allocation; }
  void Apply(const cluster::PutSearcher& put);
  void Apply(const cluster::AddSearcherEvents& add) {
    searcher_events.emplace(std::pair(add.experiment, add.sequence), add);
  }
  void Apply(const cluster::AddMetrics& add) { Add(add.report); }
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
  void DeleteUnlessHeld(model::CheckpointRecord& checkpoint);

  void Add(const model::MetricReport& r) {
    metrics.emplace(MetricKey(r.trial, r.group, r.steps_completed, r.run_id), r);
  }
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
  std::vector<CheckpointEntry> ListCheckpoints(model::TrialId trial) const;
  std::string GetUsername(model::UserId id) const;
  // The experiment with the current names of its project and workspace.
  experiment::Experiment WithCurrentProject(const experiment::Experiment& experiment) const;
  TrialRecord Record(const experiment::Trial& trial) const;
  ExperimentRecord Record(const experiment::Experiment& experiment) const;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_DATABASE_H_
