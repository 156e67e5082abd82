// Runs in PostgreSQL. Used by SqlStore. Any thread; blocks.
#ifndef MASTER_STORE_POSTGRES_SQL_RUNS_H_
#define MASTER_STORE_POSTGRES_SQL_RUNS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/store/interfaces/runs.h"
#include "master/store/postgres/fence.h"
#include "master/store/postgres/pool.h"

namespace det::store {

class SqlRuns final : public Runs {
 public:
  SqlRuns(Pool* pool, Fence* fence) : pool_(*pool), fence_(*fence) {}

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
  // Reads curves that are too long to be read whole.
  absl::Status ReadLongCurves(const CurveQuery& query, const std::vector<model::TrialId>& trials,
                              Curves* curves);

  Pool& pool_;
  Fence& fence_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SQL_RUNS_H_
