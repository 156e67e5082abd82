// The database, seen from inside: load once, commit batches in order, write bulk data, read for
// answers. Implementations: postgres/ and fake_store.h, one contract (store_contract.h).
//
// Commit is called by engine::Committer on its own thread, one at a time. The writers and readers
// may be called on any thread and block; never on the cluster's loop.
#ifndef MASTER_STORE_INTERFACES_STORE_H_
#define MASTER_STORE_INTERFACES_STORE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/core/cluster/change.h"
#include "master/core/cluster/image.h"
#include "master/store/interfaces/access.h"
#include "master/store/interfaces/answers.h"
#include "master/store/interfaces/audit.h"
#include "master/store/interfaces/cluster_message.h"
#include "master/store/interfaces/config_policies.h"
#include "master/store/interfaces/disposal.h"
#include "master/store/interfaces/lease.h"
#include "master/store/interfaces/metric_query.h"
#include "master/store/interfaces/models.h"
#include "master/store/interfaces/people.h"
#include "master/store/interfaces/projects.h"
#include "master/store/interfaces/records.h"
#include "master/store/interfaces/runs.h"
#include "master/store/interfaces/templates.h"
#include "master/store/interfaces/usage.h"
#include "master/store/interfaces/webhooks.h"
#include "master/store/interfaces/workspaces.h"

namespace det::store {

class Store {
 public:
  virtual ~Store() = default;

  // ---- control path ----

  // Takes the cluster over: raises the epoch, so that any older master's commits fail from now on,
  // and returns what is to be restored. Drops the contexts that no experiment has: a context is
  // stored before its experiment, which may then be refused or lost in a crash. Later would be too
  // late to tell them from those of submissions under way.
  virtual absl::StatusOr<cluster::Image> Load() = 0;

  // All of them or none, in one transaction that also checks the epoch. ABORTED: another master has
  // taken over. UNAVAILABLE: not known to be committed; the same batch may be given again (it
  // carries `sequence`, and a batch that was committed already is OK and changes nothing).
  virtual absl::Status Commit(int64_t sequence, const std::vector<cluster::Change>& changes) = 0;

  // ---- who leads: docs/durability.md ----

  // Says who does, also before Load and in an empty database.
  virtual absl::StatusOr<LeaseRecord> ReadLease() = 0;
  // Raises the epoch for a leader that keeps a lease, if it still is `expected` (without: whatever
  // it is); whether it was. Load comes next.
  virtual absl::StatusOr<bool> ClaimLease(std::optional<int64_t> expected) = 0;
  // One more sign of life, and where the leader answers. ABORTED: another master has taken over.
  virtual absl::Status RenewLease(const std::string& leader) = 0;

  // Every write below holds the epoch in its own transaction, once Load has given one. When it is
  // over, the write does nothing and returns UNAVAILABLE, as its caller may ask the new leader; and
  // `fenced` is called once, on that thread, with ABORTED: the process must end. Set before Load.
  virtual void OnFenced(absl::AnyInvocable<void(absl::Status)> fenced) = 0;

  // ---- bulk data: durable when the call returns OK; rows that exist already are skipped ----

  virtual absl::Status AddMetrics(const std::vector<model::MetricReport>& reports) = 0;
  virtual absl::Status AddLogLines(const std::vector<model::LogLine>& lines) = 0;

  // ---- plain records: one transaction each ----

  // A context directory by the hash of its archive; storing the same hash again is OK.
  virtual absl::Status PutContext(const std::string& hash, const std::string& tgz) = 0;
  // NOT_FOUND when nothing has this hash.
  virtual absl::StatusOr<std::string> GetContext(const std::string& hash) = 0;

  // Live as long as this.
  virtual People& people() = 0;
  virtual Access& access() = 0;
  virtual Templates& templates() = 0;
  virtual Disposal& disposal() = 0;
  virtual Workspaces& workspaces() = 0;
  virtual Projects& projects() = 0;
  virtual Models& models() = 0;
  virtual Runs& runs() = 0;
  virtual Audit& audit() = 0;
  virtual Answers& answers() = 0;
  virtual ClusterMessage& cluster_message() = 0;
  virtual Usage& usage() = 0;
  virtual Webhooks& webhooks() = 0;
  virtual ConfigPolicies& config_policies() = 0;

  // ---- reads: committed rows only ----

  virtual absl::StatusOr<ExperimentRecord> GetExperiment(model::ExperimentId id) = 0;
  // The rows of this experiment alone, as Load gives them, also when it is over; a trial's newest
  // checkpoint is then one that was not deleted.
  virtual absl::StatusOr<cluster::Image> LoadExperiment(model::ExperimentId id) = 0;
  virtual absl::StatusOr<ExperimentPage> ListExperiments(const ExperimentQuery& query) = 0;
  virtual absl::StatusOr<TrialRecord> GetTrial(model::TrialId id) = 0;
  virtual absl::StatusOr<TrialPage> ListTrials(const TrialQuery& query) = 0;
  // Without what TrialQuery::bare leaves out.
  absl::StatusOr<TrialRecord> GetBareTrial(model::TrialId id);
  // Of a trial, oldest first, terminated ones included.
  virtual absl::StatusOr<std::vector<experiment::Allocation>> ListAllocations(
      const model::TaskId& task) = 0;
  virtual absl::StatusOr<experiment::Allocation> GetAllocation(const model::AllocationId& id) = 0;
  // How long the `newest` completed trials of each experiment held slots, over all their runs: the
  // mean. Without those that have none.
  virtual absl::StatusOr<std::map<model::ExperimentId, absl::Duration>> MeanRunTimes(
      const std::vector<model::ExperimentId>& experiments, int newest) = 0;
  // By trial, group, steps, or backwards; of each the newest run's.
  virtual absl::StatusOr<std::vector<model::MetricReport>> ReadMetrics(
      const MetricQuery& query) = 0;
  // All of them at once: for what is known to be little.
  absl::StatusOr<std::vector<model::MetricReport>> ListMetrics(
      const std::vector<model::TrialId>& trials, const std::string& group) {
    return ReadMetrics({.trials = trials, .group = group});
  }
  // How many ReadMetrics has of a trial's group.
  virtual absl::StatusOr<int64_t> CountMetrics(model::TrialId trial, const std::string& group) = 0;
  virtual absl::StatusOr<CheckpointEntry> GetCheckpoint(const model::CheckpointId& id) = 0;
  virtual absl::StatusOr<CheckpointPage> ListCheckpoints(const CheckpointQuery& query) = 0;
  // Lines with ids between query.after_id and query.before_id, without these two, at most
  // query.limit, by id (descending when asked).
  virtual absl::StatusOr<std::vector<LogRecord>> ListLogs(const LogQuery& query) = 0;

  // A key-value pair about the cluster itself ("cluster_id", "task_secret").
  virtual absl::StatusOr<std::string> GetOrSetProperty(const std::string& key,
                                                       const std::string& value_if_absent) = 0;
  // OK when a statement goes through now.
  virtual absl::Status Ping() = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_STORE_H_
