// The class behind OpenPostgresStore, in several files: sql_store.cc (control path, lease, bulk
// data), reads.cc and trial_reads.cc (reads), plain_records.cc (contexts, properties).
//
// Commit and Load run on the committer's thread, everything else on any thread; all of them block.
#ifndef MASTER_STORE_POSTGRES_SQL_STORE_H_
#define MASTER_STORE_POSTGRES_SQL_STORE_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/store.h"
#include "master/store/postgres/connection.h"
#include "master/store/postgres/fence.h"
#include "master/store/postgres/pool.h"
#include "master/store/postgres/sql_access.h"
#include "master/store/postgres/sql_detached.h"
#include "master/store/postgres/sql_garbage_collection.h"
#include "master/store/postgres/sql_governance.h"
#include "master/store/postgres/sql_groups.h"
#include "master/store/postgres/sql_models.h"
#include "master/store/postgres/sql_projects.h"
#include "master/store/postgres/sql_runs.h"
#include "master/store/postgres/sql_streamed_records.h"
#include "master/store/postgres/sql_templates.h"
#include "master/store/postgres/sql_users.h"
#include "master/store/postgres/sql_webhooks.h"
#include "master/store/postgres/sql_workspaces.h"
#include "master/store/postgres/summary_backfill.h"
#include "master/store/postgres/write_group.h"

namespace det::store {

class SqlStore final : public Store {
 public:
  explicit SqlStore(const std::string& connection_string);

  // Checks the server and applies migrations.
  absl::Status Prepare();

  absl::StatusOr<cluster::Image> Load() override;
  absl::Status Commit(int64_t sequence, const std::vector<cluster::Change>& changes) override;

  absl::StatusOr<LeaseRecord> ReadLease() override;
  absl::StatusOr<bool> ClaimLease(std::optional<int64_t> expected) override;
  absl::Status RenewLease(const std::string& leader) override;
  void OnFenced(absl::AnyInvocable<void(absl::Status)> fenced) override {
    fence_.OnFenced(std::move(fenced));
  }

  using Store::AddLogLines;
  using Store::AddMetrics;
  void AddMetrics(std::vector<model::MetricReport> reports, Done done) override;
  void AddLogLines(std::vector<model::LogLine> lines, Done done) override;

  absl::Status PutContext(const std::string& hash, const std::string& tgz) override;
  absl::StatusOr<std::string> GetContext(const std::string& hash) override;
  Users& users() override { return users_; }
  Access& access() override { return access_; }
  Templates& templates() override { return templates_; }
  Groups& groups() override { return groups_; }
  Detached& detached() override { return detached_; }
  GarbageCollection& garbage_collection() override { return garbage_collection_; }
  Workspaces& workspaces() override { return workspaces_; }
  Projects& projects() override { return projects_; }
  Models& models() override { return models_; }
  StreamedRecords& streamed_records() override { return streamed_records_; }
  Runs& runs() override { return runs_; }
  Audit& audit() override { return audit_; }
  StoredResponses& stored_responses() override { return stored_responses_; }
  ClusterMessage& cluster_message() override { return cluster_message_; }
  Usage& usage() override { return usage_; }
  Webhooks& webhooks() override { return webhooks_; }
  ConfigPolicies& config_policies() override { return config_policies_; }

  absl::StatusOr<ExperimentRecord> GetExperiment(model::ExperimentId id) override;
  absl::StatusOr<cluster::Image> LoadExperiment(model::ExperimentId id) override;
  absl::StatusOr<ExperimentPage> ListExperiments(const ExperimentQuery& query) override;
  absl::StatusOr<TrialRecord> GetTrial(model::TrialId id) override;
  absl::StatusOr<TrialPage> ListTrials(const TrialQuery& query) override;
  absl::StatusOr<TrialRecord> GetBareTrial(model::TrialId id) override;
  absl::StatusOr<std::vector<model::TrialId>> ListTrialIds(model::ExperimentId id) override;
  absl::StatusOr<std::vector<experiment::Allocation>> ListAllocations(
      const model::TaskId& task) override;
  absl::StatusOr<experiment::Allocation> GetAllocation(const model::AllocationId& id) override;
  absl::StatusOr<std::map<model::ExperimentId, absl::Duration>> GetMeanRunTimes(
      const std::vector<model::ExperimentId>& experiments, int newest) override;
  absl::StatusOr<std::vector<model::MetricReport>> ReadMetrics(const MetricQuery& query) override;
  absl::StatusOr<int64_t> CountMetrics(model::TrialId trial, const std::string& group) override;
  absl::StatusOr<CheckpointEntry> GetCheckpoint(const model::CheckpointId& id) override;
  absl::StatusOr<CheckpointPage> ListCheckpoints(const CheckpointQuery& query) override;
  absl::StatusOr<std::vector<LogRecord>> ListLogs(const LogQuery& query) override;

  absl::StatusOr<std::string> GetOrSetProperty(const std::string& key,
                                               const std::string& value_if_absent) override;
  absl::Status Ping() override;

 private:
  absl::StatusOr<cluster::Image> LoadFrom(Connection& connection);
  // Adds the experiments that satisfy `condition` (on `e`), with their trials and searchers.
  static absl::Status AddExperiments(Connection& connection, const std::string& condition,
                                     const Params& params, cluster::Image& image);
  // For an experiment that may be continued: replaces a trial's newest checkpoint, if it was
  // deleted, by the newest that was not.
  static absl::Status UseCompletedCheckpoints(Connection& connection, model::ExperimentId id,
                                              cluster::Image& image);
  std::vector<Connection::Statement> ToStatements(
      int64_t sequence, const std::vector<cluster::Change>& changes) const;

  // A report, and the first error of its caller's reports.
  struct PendingMetrics {
    model::MetricReport report;
    std::shared_ptr<absl::Status> refused;
  };
  absl::Status StorePending(const WriteGroup<PendingMetrics>::Rows& pending);

  Pool committer_;  // one connection
  Pool writer_;     // one connection
  Pool readers_;
  Pool gc_pool_;  // one connection
  Pool lease_;    // one connection, so that lease renewals never wait
  Fence fence_;
  SqlAccess access_{&readers_, &fence_};
  SqlUsers users_{&readers_, &fence_};
  SqlTemplates templates_{&readers_, &fence_};
  SqlGroups groups_{&readers_, &fence_};
  SqlDetached detached_{&readers_, &fence_};
  SqlGarbageCollection garbage_collection_{&gc_pool_, &fence_};
  SqlWorkspaces workspaces_{&readers_, &fence_};
  SqlProjects projects_{&readers_, &fence_};
  SqlModels models_{&readers_, &fence_};
  SqlStreamedRecords streamed_records_{&readers_};
  SqlRuns runs_{&readers_, &fence_};
  SqlAudit audit_{&writer_, &readers_, &fence_};
  SqlStoredResponses stored_responses_{&readers_, &fence_};
  SqlClusterMessage cluster_message_{&readers_, &fence_};
  SqlUsage usage_{&readers_};
  SqlWebhooks webhooks_{&readers_, &fence_};
  SqlConfigPolicies config_policies_{&readers_, &fence_};
  SummaryBackfill summary_backfill_{&gc_pool_, &fence_};  // started by the first Load
  WriteGroup<PendingMetrics> metrics_;
  WriteGroup<model::LogLine> logs_;

  // Accessed only on the committer's thread.
  std::set<model::ExperimentId> known_experiments_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SQL_STORE_H_
