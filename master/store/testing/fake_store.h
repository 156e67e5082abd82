// A Store in memory with the semantics of PostgresStore, for tests. Several FakeStores on one
// FakeDatabase are several masters on one database. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_STORE_H_
#define MASTER_STORE_TESTING_FAKE_STORE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/store.h"

namespace det::store {

// The rows; outlives the stores that are opened on it.
struct FakeDatabase;
std::shared_ptr<FakeDatabase> MakeFakeDatabase();

class FakeStore final : public Store {
 public:
  FakeStore() : FakeStore(MakeFakeDatabase()) {}
  explicit FakeStore(std::shared_ptr<FakeDatabase> database);
  ~FakeStore() override;

  absl::StatusOr<cluster::Image> Load() override;
  absl::Status Commit(int64_t sequence, const std::vector<cluster::Change>& changes) override;

  absl::StatusOr<LeaseRecord> ReadLease() override;
  absl::StatusOr<bool> ClaimLease(std::optional<int64_t> expected) override;
  absl::Status RenewLease(const std::string& leader) override;
  void OnFenced(absl::AnyInvocable<void(absl::Status)> fenced) override;

  using Store::AddLogLines;
  using Store::AddMetrics;
  void AddMetrics(std::vector<model::MetricReport> reports, Done done) override;
  void AddLogLines(std::vector<model::LogLine> lines, Done done) override;

  absl::Status PutContext(const std::string& hash, const std::string& tgz) override;
  absl::StatusOr<std::string> GetContext(const std::string& hash) override;
  Users& users() override { return *users_; }
  Access& access() override { return *access_; }
  Templates& templates() override { return *templates_; }
  Groups& groups() override { return *groups_; }
  Detached& detached() override { return *detached_; }
  GarbageCollection& garbage_collection() override;
  Workspaces& workspaces() override { return *workspaces_; }
  Projects& projects() override { return *projects_; }
  Models& models() override { return *models_; }
  StreamedRecords& streamed_records() override { return *streamed_records_; }
  Runs& runs() override { return *runs_; }
  Audit& audit() override { return *audit_; }
  StoredResponses& stored_responses() override { return *stored_responses_; }
  ClusterMessage& cluster_message() override { return *cluster_message_; }
  Usage& usage() override { return *usage_; }
  Webhooks& webhooks() override { return *webhooks_; }
  ConfigPolicies& config_policies() override { return *config_policies_; }

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
  // UNAVAILABLE if another store has a newer epoch.
  absl::Status CheckEpoch();
  bool is_fenced() const;  // REQUIRES the database's mutex
  absl::Status ReportFenced();

  const std::shared_ptr<FakeDatabase> database_;
  const std::unique_ptr<Access> access_;
  const std::unique_ptr<GarbageCollection> garbage_collection_;
  const std::unique_ptr<Users> users_;
  const std::unique_ptr<Templates> templates_;
  const std::unique_ptr<Groups> groups_;
  const std::unique_ptr<Detached> detached_;
  const std::unique_ptr<Workspaces> workspaces_;
  const std::unique_ptr<Projects> projects_;
  const std::unique_ptr<Models> models_;
  const std::unique_ptr<StreamedRecords> streamed_records_;
  const std::unique_ptr<Runs> runs_;
  const std::unique_ptr<Audit> audit_;
  const std::unique_ptr<StoredResponses> stored_responses_;
  const std::unique_ptr<ClusterMessage> cluster_message_;
  const std::unique_ptr<Usage> usage_;
  const std::unique_ptr<Webhooks> webhooks_;
  const std::unique_ptr<ConfigPolicies> config_policies_;
  int64_t epoch_ = 0;  // 0: not loaded
  absl::AnyInvocable<void(absl::Status)> fenced_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_STORE_H_
