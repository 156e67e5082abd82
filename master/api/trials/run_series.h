// Metrics of several trials for charts, downsampled to the points that a chart can show.
//
// Called by the run service on the pool; blocks.
#ifndef MASTER_API_TRIALS_RUN_SERIES_H_
#define MASTER_API_TRIALS_RUN_SERIES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "det/api/v1/run.pb.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// Each function returns INVALID_ARGUMENT if the request has no metric name, or neither `group` nor
// `metric_type`.
absl::StatusOr<v1::MetricBatchesResponse> ListBatches(store::Store& store,
                                                      const v1::MetricBatchesRequest& request);
absl::StatusOr<v1::TrialsSnapshotResponse> ReadSnapshot(store::Store& store,
                                                        const v1::TrialsSnapshotRequest& request);
absl::StatusOr<v1::TrialsSampleResponse> ReadSample(store::Store& store,
                                                    const v1::TrialsSampleRequest& request);
absl::Status Compare(store::Store& store, const v1::CompareTrialsRequest& request, absl::Time now,
                     v1::CompareTrialsResponse* response);

}  // namespace det::api

#endif  // MASTER_API_TRIALS_RUN_SERIES_H_
