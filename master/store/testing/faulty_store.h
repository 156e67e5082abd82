// A Store for tests that wraps another one and makes its commits fail as scripted. Any thread.
// Reads pass through.
#ifndef MASTER_STORE_TESTING_FAULTY_STORE_H_
#define MASTER_STORE_TESTING_FAULTY_STORE_H_

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/store.h"

namespace det::store {

class FaultyStore final : public Store {
 public:
  enum class Fault {
    kNone,       // succeeds
    kUnreached,  // UNAVAILABLE, and nothing was committed
    kLostAck,    // UNAVAILABLE, and it was committed
    kRejected,   // INTERNAL, and nothing was committed
  };

  explicit FaultyStore(Store* store) : store_(*store) {}

  // Appends faults for the next Commits, one each.
  void Script(const std::vector<Fault>& faults);

  // Commits without a scripted fault fail as `decide` returns; they are not recorded in commits().
  void Decide(std::function<Fault()> decide);

  // Called with every batch that the store has committed, before its caller gets the result; again
  // if the batch is repeated.
  using Committed = std::function<void(int64_t sequence, const std::vector<cluster::Change>&)>;
  void OnCommitted(Committed made);

  // The next Commit first calls `fn` on its own thread, and blocks until it returns.
  void DuringCommit(std::function<void()> fn);

  struct Call {
    int64_t sequence = 0;
    std::vector<cluster::Change> changes;
  };
  // Every attempted Commit, in order, unless Decide is set.
  std::vector<Call> commits() const;

  absl::Status Commit(int64_t sequence, const std::vector<cluster::Change>& changes) override;

  absl::StatusOr<cluster::Image> Load() override { return store_.Load(); }
  absl::StatusOr<LeaseRecord> ReadLease() override { return store_.ReadLease(); }
  absl::StatusOr<bool> ClaimLease(std::optional<int64_t> expected) override {
    return store_.ClaimLease(expected);
  }
  absl::Status RenewLease(const std::string& leader) override { return store_.RenewLease(leader); }
  void OnFenced(absl::AnyInvocable<void(absl::Status)> fenced) override {
    store_.OnFenced(std::move(fenced));
  }
  using Store::AddLogLines;
  using Store::AddMetrics;
  void AddMetrics(std::vector<model::MetricReport> reports, Done done) override {
    store_.AddMetrics(std::move(reports), std::move(done));
  }
  void AddLogLines(std::vector<model::LogLine> lines, Done done) override {
    store_.AddLogLines(std::move(lines), std::move(done));
  }
  absl::Status PutContext(const std::string& hash, const std::string& tgz) override {
    return store_.PutContext(hash, tgz);
  }
  absl::StatusOr<std::string> GetContext(const std::string& hash) override {
    return store_.GetContext(hash);
  }
  Users& users() override { return store_.users(); }
  Access& access() override { return store_.access(); }
  Templates& templates() override { return store_.templates(); }
  Groups& groups() override { return store_.groups(); }
  Detached& detached() override { return store_.detached(); }
  GarbageCollection& garbage_collection() override { return store_.garbage_collection(); }
  Workspaces& workspaces() override { return store_.workspaces(); }
  Projects& projects() override { return store_.projects(); }
  Models& models() override { return store_.models(); }
  StreamedRecords& streamed_records() override { return store_.streamed_records(); }
  Runs& runs() override { return store_.runs(); }
  Tasks& tasks() override { return store_.tasks(); }
  Audit& audit() override { return store_.audit(); }
  StoredResponses& stored_responses() override { return store_.stored_responses(); }
  ClusterMessage& cluster_message() override { return store_.cluster_message(); }
  Usage& usage() override { return store_.usage(); }
  Webhooks& webhooks() override { return store_.webhooks(); }
  ConfigPolicies& config_policies() override { return store_.config_policies(); }
  absl::StatusOr<ExperimentRecord> GetExperiment(model::ExperimentId id) override {
    return store_.GetExperiment(id);
  }
  absl::StatusOr<cluster::Image> LoadExperiment(model::ExperimentId id) override {
    return store_.LoadExperiment(id);
  }
  absl::StatusOr<ExperimentPage> ListExperiments(const ExperimentQuery& query) override {
    return store_.ListExperiments(query);
  }
  absl::StatusOr<TrialRecord> GetTrial(model::TrialId id) override { return store_.GetTrial(id); }
  absl::StatusOr<TrialRecord> GetBareTrial(model::TrialId id) override {
    return store_.GetBareTrial(id);
  }
  absl::StatusOr<std::vector<model::TrialId>> ListTrialIds(model::ExperimentId id) override {
    return store_.ListTrialIds(id);
  }
  absl::StatusOr<TrialPage> ListTrials(const TrialQuery& query) override {
    return store_.ListTrials(query);
  }
  absl::StatusOr<std::vector<experiment::Allocation>> ListAllocations(
      const model::TaskId& task) override {
    return store_.ListAllocations(task);
  }
  absl::StatusOr<experiment::Allocation> GetAllocation(const model::AllocationId& id) override {
    return store_.GetAllocation(id);
  }
  absl::StatusOr<std::map<model::ExperimentId, absl::Duration>> GetMeanRunTimes(
      const std::vector<model::ExperimentId>& experiments, int newest) override {
    return store_.GetMeanRunTimes(experiments, newest);
  }
  absl::StatusOr<std::vector<model::MetricReport>> ReadMetrics(const MetricQuery& query) override {
    return store_.ReadMetrics(query);
  }
  absl::StatusOr<int64_t> CountMetrics(model::TrialId trial, const std::string& group) override {
    return store_.CountMetrics(trial, group);
  }
  absl::StatusOr<CheckpointEntry> GetCheckpoint(const model::CheckpointId& id) override {
    return store_.GetCheckpoint(id);
  }
  absl::StatusOr<CheckpointPage> ListCheckpoints(const CheckpointQuery& query) override {
    return store_.ListCheckpoints(query);
  }
  absl::StatusOr<std::vector<LogRecord>> ListLogs(const LogQuery& query) override {
    return store_.ListLogs(query);
  }
  absl::StatusOr<std::string> GetOrSetProperty(const std::string& key,
                                               const std::string& value_if_absent) override {
    return store_.GetOrSetProperty(key, value_if_absent);
  }
  absl::Status Ping() override { return store_.Ping(); }

 private:
  Store& store_;
  mutable std::mutex mutex_;
  std::deque<Fault> script_;
  std::function<Fault()> decide_;
  Committed committed_;
  std::function<void()> during_;
  std::vector<Call> commits_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAULTY_STORE_H_
