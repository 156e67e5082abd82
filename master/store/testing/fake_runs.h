// Runs in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_RUNS_H_
#define MASTER_STORE_TESTING_FAKE_RUNS_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/store/interfaces/runs.h"
#include "master/store/testing/fake_database.h"

namespace det::store {

class FakeRuns final : public Runs {
 public:
  // `check_epoch` is called before each write, without the database's mutex.
  FakeRuns(FakeDatabase* database, std::function<absl::Status()> check_epoch)
      : db_(*database), check_epoch_(std::move(check_epoch)) {}

  absl::StatusOr<RunPage> SearchRuns(const RunQuery& query) override;
  absl::StatusOr<FoundExperiments> SearchExperiments(const RunQuery& query) override;
  absl::StatusOr<std::vector<ValueColumn>> ListValueColumns(int32_t project) override;
  absl::StatusOr<std::vector<MetricName>> ListMetricNames(int32_t project) override;
  absl::StatusOr<std::vector<MetricName>> ListMetricNames(
      const std::vector<model::ExperimentId>& experiments) override;
  absl::StatusOr<std::vector<MetricRange>> ListMetricRanges(int32_t project) override;
  absl::StatusOr<Curves> ReadCurves(const CurveQuery& query) override;
  absl::StatusOr<NumberCurves> ReadNumbers(const CurveQuery& query) override;
  absl::StatusOr<std::vector<int64_t>> ListSteps(const SeriesQuery& query) override;
  absl::StatusOr<std::vector<SeriesPoint>> ReadLast(const SeriesQuery& query) override;
  absl::Status PutMetadata(model::TrialId id, const model::Value& metadata) override;
  absl::StatusOr<model::Value> GetMetadata(model::TrialId id) override;
  absl::Status PutCheckpointMetadata(const model::CheckpointId& id,
                                     const model::Value& metadata) override;
  absl::StatusOr<std::vector<std::string>> ListMetadataValues(int32_t project,
                                                              const std::string& key) override;

 private:
  bool IsIn(const experiment::Experiment& e, const RunQuery& query) const;
  RunRecord Read(const experiment::Trial& trial) const;
  std::vector<RunRecord> ListProjectRuns(int32_t project) const;
  // Visits the values of each trial in turn, sorted by steps.
  template <class Visit>
  void VisitSeries(const SeriesQuery& query, const Visit& visit);

  FakeDatabase& db_;
  const std::function<absl::Status()> check_epoch_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_RUNS_H_
