// The interface to the database: load once, commit batches in order, write bulk data, read.
// Implementations: postgres/ and testing/fake_store.h; both pass the same contract suite
// (testing/store_contract.h).
//
// engine::Committer calls Commit on its own thread, one call at a time. Other methods may be called
// on any thread except the engine's loop; all of them block.
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
#include "master/store/interfaces/audit.h"
#include "master/store/interfaces/cluster_message.h"
#include "master/store/interfaces/config_policies.h"
#include "master/store/interfaces/detached.h"
#include "master/store/interfaces/garbage_collection.h"
#include "master/store/interfaces/groups.h"
#include "master/store/interfaces/lease.h"
#include "master/store/interfaces/metric_query.h"
#include "master/store/interfaces/models.h"
#include "master/store/interfaces/projects.h"
#include "master/store/interfaces/records.h"
#include "master/store/interfaces/runs.h"
#include "master/store/interfaces/stored_responses.h"
#include "master/store/interfaces/streamed_records.h"
#include "master/store/interfaces/tasks.h"
#include "master/store/interfaces/templates.h"
#include "master/store/interfaces/usage.h"
#include "master/store/interfaces/users.h"
#include "master/store/interfaces/webhooks.h"
#include "master/store/interfaces/workspaces.h"

namespace det::store {

class Store {
 public:
  virtual ~Store() = default;

  // ---- control path ----

  // Takes over the cluster: raises the epoch, so that commits of older masters fail from now on,
  // and returns the state to restore. Deletes context directories that no experiment uses, and no
  // task that lives or ended in the last 7 days: a context is stored before its experiment or task,
  // which may be rejected or lost in a crash. At this point no request is in progress whose context
  // is still needed.
  virtual absl::StatusOr<cluster::Image> Load() = 0;

  // Writes all changes or none, in one transaction that also checks the epoch. ABORTED: another
  // master has taken over. UNAVAILABLE: the outcome is unknown; the caller may retry the same
  // batch, since a `sequence` that is committed already returns OK and changes nothing.
  virtual absl::Status Commit(int64_t sequence, const std::vector<cluster::Change>& changes) = 0;

  // ---- lease: docs/durability.md ----

  // May be called before Load and on an empty database.
  virtual absl::StatusOr<LeaseRecord> ReadLease() = 0;
  // Raises the epoch for a leader that keeps a lease, if the epoch still is `expected` (nullopt:
  // any). Returns whether it was. Load must be called next.
  virtual absl::StatusOr<bool> ClaimLease(std::optional<int64_t> expected) = 0;
  // Renews the lease and stores the leader's URL. ABORTED: another master has taken over.
  virtual absl::Status RenewLease(const std::string& leader) = 0;

  // After Load, every write below checks the epoch in its own transaction. If another master has
  // taken over, the write does nothing and returns UNAVAILABLE, so that its caller can retry with
  // the new leader, and `fenced` is called once, on that thread, with ABORTED: the process must
  // exit. Set before Load.
  virtual void OnFenced(absl::AnyInvocable<void(absl::Status)> fenced) = 0;

  // ---- bulk data: durable when the call returns OK; existing rows are skipped ----

  // Return at once. `done` is called when the rows are durable or could not be written, on a thread
  // that it must not block. Rows of different callers share a commit.
  using Done = absl::AnyInvocable<void(absl::Status)>;
  virtual void AddMetrics(std::vector<model::MetricReport> reports, Done done) = 0;
  virtual void AddLogLines(std::vector<model::LogLine> lines, Done done) = 0;
  // The same, but block until then.
  absl::Status AddMetrics(std::vector<model::MetricReport> reports);
  absl::Status AddLogLines(std::vector<model::LogLine> lines);

  // ---- plain records: one transaction each ----

  // Stores a context directory under the hash of its archive. Storing the same hash again is OK.
  virtual absl::Status PutContext(const std::string& hash, const std::string& tgz) = 0;
  // NOT_FOUND if there is no context with this hash.
  virtual absl::StatusOr<std::string> GetContext(const std::string& hash) = 0;

  // The returned objects live as long as the store.
  virtual Users& users() = 0;
  virtual Access& access() = 0;
  virtual Templates& templates() = 0;
  virtual Groups& groups() = 0;
  virtual Detached& detached() = 0;
  virtual GarbageCollection& garbage_collection() = 0;
  virtual Workspaces& workspaces() = 0;
  virtual Projects& projects() = 0;
  virtual Models& models() = 0;
  virtual StreamedRecords& streamed_records() = 0;
  virtual Runs& runs() = 0;
  virtual Tasks& tasks() = 0;
  virtual Audit& audit() = 0;
  virtual StoredResponses& stored_responses() = 0;
  virtual ClusterMessage& cluster_message() = 0;
  virtual Usage& usage() = 0;
  virtual Webhooks& webhooks() = 0;
  virtual ConfigPolicies& config_policies() = 0;

  // ---- reads: committed rows only ----

  virtual absl::StatusOr<ExperimentRecord> GetExperiment(model::ExperimentId id) = 0;
  // The rows of one experiment, as Load returns them, also after it has ended; then the newest
  // checkpoint of a trial is one that was not deleted.
  virtual absl::StatusOr<cluster::Image> LoadExperiment(model::ExperimentId id) = 0;
  virtual absl::StatusOr<ExperimentPage> ListExperiments(const ExperimentQuery& query) = 0;
  virtual absl::StatusOr<TrialRecord> GetTrial(model::TrialId id) = 0;
  virtual absl::StatusOr<TrialPage> ListTrials(const TrialQuery& query) = 0;
  // Returns the trial without what TrialQuery::bare leaves out.
  virtual absl::StatusOr<TrialRecord> GetBareTrial(model::TrialId id) = 0;
  // Returns the trials of an experiment, in ascending order; none if there is no such experiment.
  virtual absl::StatusOr<std::vector<model::TrialId>> ListTrialIds(model::ExperimentId id) = 0;
  // Allocations of a task, oldest first, including terminated ones.
  virtual absl::StatusOr<std::vector<experiment::Allocation>> ListAllocations(
      const model::TaskId& task) = 0;
  virtual absl::StatusOr<experiment::Allocation> GetAllocation(const model::AllocationId& id) = 0;
  // The mean time that the `newest` completed trials of each experiment held slots, over all their
  // attempts. Experiments without completed trials are left out.
  virtual absl::StatusOr<std::map<model::ExperimentId, absl::Duration>> GetMeanRunTimes(
      const std::vector<model::ExperimentId>& experiments, int newest) = 0;
  // Sorted by trial, group and steps, or in reverse; each step as the newest attempt reported it.
  virtual absl::StatusOr<std::vector<model::MetricReport>> ReadMetrics(
      const MetricQuery& query) = 0;
  // All reports at once; use only for few reports.
  absl::StatusOr<std::vector<model::MetricReport>> ListMetrics(
      const std::vector<model::TrialId>& trials, const std::string& group) {
    return ReadMetrics({.trials = trials, .group = group});
  }
  // The number of reports that ReadMetrics returns for a trial's group.
  virtual absl::StatusOr<int64_t> CountMetrics(model::TrialId trial, const std::string& group) = 0;
  virtual absl::StatusOr<CheckpointEntry> GetCheckpoint(const model::CheckpointId& id) = 0;
  virtual absl::StatusOr<CheckpointPage> ListCheckpoints(const CheckpointQuery& query) = 0;
  // At most query.limit lines with ids between query.after_id and query.before_id (both excluded),
  // sorted by id.
  virtual absl::StatusOr<std::vector<LogRecord>> ListLogs(const LogQuery& query) = 0;

  // A key-value pair about the cluster itself ("cluster_id", "task_secret").
  virtual absl::StatusOr<std::string> GetOrSetProperty(const std::string& key,
                                                       const std::string& value_if_absent) = 0;
  // OK if the database executes a statement now.
  virtual absl::Status Ping() = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_STORE_H_
