// The rows behind FakeStore. Used by FakeStore alone, which holds the mutex.
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
#include "master/store/testing/fake_hook_rows.h"
#include "master/store/testing/fake_model_rows.h"
#include "master/store/testing/fake_people.h"
#include "master/store/testing/fake_spaces.h"

namespace det::store {

using MetricKey = std::tuple<model::TrialId, std::string, int64_t, int>;  // the last is the run

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
  std::map<model::CheckpointId, std::set<std::string>> trims;  // what is to go of their files
  std::vector<LogRecord> logs;                                 // by id
  int64_t last_log = 0;
  std::set<std::tuple<model::AllocationId, std::string, int64_t>> log_sequences;
  std::map<std::string, std::string> contexts;
  PeopleRows people;
  AccessRows access;
  std::map<std::string, std::string> properties;
  std::map<std::string, TemplateRecord> templates;
  FakeSpaces spaces;
  std::map<model::TrialId, model::Value> run_metadata;
  ModelRows models;
  GovernanceRows governance;
  HookRows hooks;
  std::map<model::AgentId, model::Agent> known_agents;
  std::map<std::pair<model::AgentId, absl::Time>, cluster::AddCapacity> capacity;
  std::map<model::AgentId, model::AgentState> agents;
  std::map<std::string, model::ResourcePool> pools;
  cluster::PutDefaultPools default_pools;
  std::map<std::pair<model::Quota::Scope, std::string>, model::Quota> quotas;

  // Beside the rows of experiments.
  std::set<model::ExperimentId> archived, retained;
  std::map<model::ExperimentId, int> log_days;  // how long logs are kept
  std::map<model::TrialId, int> trial_log_days;
  cluster::Image highest_deleted;  // its last_* alone
  struct DeletedRun {
    experiment::Allocation allocation;
    std::string owner, workspace;
  };
  std::vector<DeletedRun> deleted_runs;

  void Make(const cluster::PutExperiment& put);
  void Make(const cluster::SetProject& set);
  void Make(const cluster::SetTexts& set);
  void Make(const cluster::SetArchived& set);
  void Make(const cluster::MarkDeleting& mark);
  void Make(const cluster::PutRetention& put);
  void Make(const cluster::DropCheckpoints& drop);
  void Make(const cluster::TrimCheckpoint& trim);
  void Make(const cluster::RetainOthers& retain);
  void Make(const cluster::PutTrial& put) { trials[put.trial.id] = put.trial; }
  void Make(const cluster::PutAllocation& put) { allocations[put.allocation.id] = put.allocation; }
  void Make(const cluster::PutSearcher& put);
  void Make(const cluster::AddSearcherEvents& add) {
    searcher_events.emplace(std::pair(add.experiment, add.sequence), add);
  }
  void Make(const cluster::AddMetrics& add) { Add(add.report); }
  void Make(const cluster::AddCheckpoint& add);
  void Make(const cluster::MarkDamaged& mark);
  void Make(const cluster::AddLogLine& add) { Add(add.line); }
  void Make(const cluster::RaiseWebhooks& raise) { Raise(raise.event); }
  void Make(const cluster::PutAgent& put) { known_agents[put.agent.id] = put.agent; }
  void Make(const cluster::DropAgent& drop) { known_agents.erase(drop.id); }
  void Make(const cluster::AddCapacity& add) { capacity[{add.agent, add.at}] = add; }
  void Make(const cluster::PutAgentState& put) { agents[put.agent.id] = put.agent; }
  void Make(const cluster::PutPool& put) { pools[put.pool.name] = put.pool; }
  void Make(const cluster::DropPool& drop) { pools.erase(drop.name); }
  void Make(const cluster::PutDefaultPools& put) { default_pools = put; }
  void Make(const cluster::SetQuota& set) { quotas[{set.quota.scope, set.quota.name}] = set.quota; }
  void Make(const cluster::DropQuota& drop) { quotas.erase({drop.scope, drop.name}); }

  // A delivery for each webhook that wants it; how many.
  int Raise(const model::WebhookEvent& event);

  // Who needs it: "experiment 7"; empty: nobody.
  std::string HolderOf(const model::CheckpointId& id) const;
  bool IsOf(const model::CheckpointRecord& checkpoint, model::ExperimentId id) const {
    return trials.contains(checkpoint.trial) && trials.at(checkpoint.trial).experiment == id;
  }
  void Doom(model::CheckpointRecord& checkpoint);

  void Add(const model::MetricReport& r) {
    metrics.emplace(MetricKey(r.trial, r.group, r.steps_completed, r.run_id), r);
  }
  // Of an experiment that was deleted.
  bool IsGone(const model::TaskId& task) const;
  void Add(const model::LogLine& line);

  bool UsesContext(const std::string& hash) const {
    return std::any_of(experiments.begin(), experiments.end(),
                       [&](const auto& item) { return item.second.context_hash == hash; });
  }
  // Adds the experiment with its trials and its searcher.
  void AddTo(cluster::Image& image, const experiment::Experiment& experiment) const;
  // Adds agents, pools and quotas, and what was used of these.
  void AddScheduling(cluster::Image& image) const;

  // The newest run's report of each step.
  std::vector<model::MetricReport> Metrics(model::TrialId trial, const std::string& group) const;
  std::vector<CheckpointEntry> Checkpoints(model::TrialId trial) const;
  std::string UsernameOf(model::UserId id) const;
  // In its project as that is named now.
  experiment::Experiment Placed(const experiment::Experiment& experiment) const;
  TrialRecord Record(const experiment::Trial& trial) const;
  ExperimentRecord Record(const experiment::Experiment& experiment) const;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_DATABASE_H_
