// Metrics of trials for charts: streams of what is new, and curves that are downsampled to the
// points that a chart can show.
//
// Called by the run service on the pool; blocks.
#ifndef MASTER_API_TRIALS_RUN_SERIES_H_
#define MASTER_API_TRIALS_RUN_SERIES_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "det/api/v1/run.pb.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// Each call returns what is new since the last one; the first call returns everything.
template <class Response>
using Series = std::function<absl::StatusOr<Response>()>;

Series<v1::ExpMetricNamesResponse> MakeMetricNames(store::Store& store,
                                                   std::vector<model::ExperimentId> experiments);
// The series below return INVALID_ARGUMENT if the request has no metric name, or neither `group`
// nor `metric_type`.
Series<v1::MetricBatchesResponse> MakeBatches(store::Store& store,
                                              const v1::MetricBatchesRequest& request);
Series<v1::TrialsSnapshotResponse> MakeSnapshot(store::Store& store,
                                                const v1::TrialsSnapshotRequest& request);
Series<v1::TrialsSampleResponse> MakeSample(store::Store& store,
                                            const v1::TrialsSampleRequest& request);

// Returns NOT_FOUND if the request has no trials, or if one does not exist.
absl::Status Compare(store::Store& store, const v1::CompareTrialsRequest& request, absl::Time now,
                     v1::CompareTrialsResponse* response);

}  // namespace det::api

#endif  // MASTER_API_TRIALS_RUN_SERIES_H_
