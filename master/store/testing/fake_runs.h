// Runs in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_RUNS_H_
#define MASTER_STORE_TESTING_FAKE_RUNS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "master/store/interfaces/runs.h"
#include "master/store/testing/fake_database.h"

namespace det::store {

class FakeRuns final : public Runs {
 public:
  // `held` is asked before each write, without the database's mutex.
  FakeRuns(FakeDatabase* database, std::function<absl::Status()> held)
      : db_(*database), held_(std::move(held)) {}

  absl::StatusOr<RunPage> SearchRuns(const RunQuery& query) override;
  absl::StatusOr<FoundExperiments> SearchExperiments(const RunQuery& query) override;
  absl::StatusOr<std::vector<ValueColumn>> ListValueColumns(int32_t project) override;
  absl::StatusOr<std::vector<MetricName>> ListMetricNames(int32_t project) override;
  absl::StatusOr<std::vector<MetricName>> ListMetricNames(
      const std::vector<model::ExperimentId>& experiments) override;
  absl::StatusOr<std::vector<MetricRange>> MetricRanges(int32_t project) override;
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
  std::vector<RunRecord> OfProject(int32_t project) const;
  std::map<MetricName, MetricSummary> Summaries(model::TrialId trial) const;
  // Those of one trial behind each other, by steps.
  template <class Visit>
  void VisitSeries(const SeriesQuery& query, const Visit& visit);

  FakeDatabase& db_;
  const std::function<absl::Status()> held_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_RUNS_H_
