// The rows of a database as far as the cluster needs them: applies changes and loads an Image as a
// store does. For tests of the cluster and for the simulation.
#ifndef MASTER_CORE_CLUSTER_TESTING_ROWS_H_
#define MASTER_CORE_CLUSTER_TESTING_ROWS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "master/core/cluster/change.h"
#include "master/core/cluster/image.h"

namespace det::cluster {

class Rows {
 public:
  void Apply(const std::vector<Change>& changes);
  Image Load() const;

  std::map<model::ExperimentId, experiment::Experiment> experiments;
  std::map<model::TrialId, experiment::Trial> trials;
  std::map<model::TaskId, experiment::Task> tasks;
  std::map<model::AllocationId, experiment::Allocation> allocations;
  std::map<model::ExperimentId, PutSearcher> searchers;
  std::map<std::pair<model::ExperimentId, int64_t>, AddSearcherEvents> searcher_events;
  std::vector<model::MetricReport> metrics;
  std::map<model::CheckpointId, model::CheckpointRecord> checkpoints;
  std::vector<model::LogLine> lines;
  std::vector<model::WebhookEvent> raised;
  std::map<model::AgentId, model::Agent> known_agents;
  std::map<model::AgentId, model::AgentState> agents;
  std::map<std::string, model::ResourcePool> pools;
  PutDefaultPools default_pools;
  std::map<std::pair<model::Quota::Scope, std::string>, model::Quota> quotas;

 private:
  Usage MakeUsage() const;
  void Put(const PutExperiment& row) { experiments[row.experiment.id] = row.experiment; }
  void Put(const PutTrial& row) { trials[row.trial.id] = row.trial; }
  void Put(const PutTask& row) { tasks[row.task.id] = row.task; }
  void Put(const PutAllocation& row) { allocations[row.allocation.id] = row.allocation; }
  void Put(const PutSearcher& row);
  void Put(const AddSearcherEvents& row) { searcher_events[{row.experiment, row.sequence}] = row; }
  void Put(const AddMetrics& row) { metrics.push_back(row.report); }
  void Put(const AddCheckpoint& row) { checkpoints[row.checkpoint.id] = row.checkpoint; }
  void Put(const MarkDamaged& row) {
    const auto it = checkpoints.find(row.id);
    if (it != checkpoints.end()) it->second.state = model::CheckpointState::kError;
  }
  void Put(const SetProject& row) { PutInto(row.experiment, row.to); }
  void Put(const SetExperimentDetails& row) { PutInto(row.experiment, row.details); }
  template <class What>
  void PutInto(model::ExperimentId id, const What& what) {
    const auto it = experiments.find(id);
    if (it != experiments.end()) cluster::Put(what, it->second);
  }
  void Put(const SetArchived&) {}
  void Put(const MarkDeleting& row) {
    const auto it = experiments.find(row.experiment);
    if (it != experiments.end()) it->second.state = model::ExperimentState::kDeleting;
  }
  void Put(const PutRetention& row);
  void Put(const DropCheckpoints& row) { Drop(row.ids); }
  void Put(const TrimCheckpoint& row) {
    const auto it = checkpoints.find(row.id);
    if (it != checkpoints.end()) it->second.state = model::CheckpointState::kPartiallyDeleted;
  }
  void Put(const ApplyRetention& row) { Drop(row.drop); }
  void Drop(const std::vector<model::CheckpointId>& ids) {
    for (const auto& id : ids) {
      const auto it = checkpoints.find(id);
      if (it != checkpoints.end()) it->second.state = model::CheckpointState::kDeleting;
    }
  }
  void Put(const AddLogLine& row) { lines.push_back(row.line); }
  void Put(const RaiseWebhooks& row) { raised.push_back(row.event); }
  void Put(const PutAgent& row) { known_agents[row.agent.id] = row.agent; }
  void Put(const DropAgent& row) { known_agents.erase(row.id); }
  void Put(const AddCapacity&) {}  // read only by reports
  void Put(const PutAgentState& row) { agents[row.agent.id] = row.agent; }
  void Put(const PutPool& row) { pools[row.pool.name] = row.pool; }
  void Put(const DropPool& row) { pools.erase(row.name); }
  void Put(const PutDefaultPools& row) { default_pools = row; }
  void Put(const SetQuota& row) { quotas[{row.quota.scope, row.quota.name}] = row.quota; }
  void Put(const DropQuota& row) { quotas.erase({row.scope, row.name}); }
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_TESTING_ROWS_H_
