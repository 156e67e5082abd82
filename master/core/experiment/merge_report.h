// Decides what a second report of the same attempt, group and step adds to the first one.
//
// PURE.
#ifndef MASTER_CORE_EXPERIMENT_MERGE_REPORT_H_
#define MASTER_CORE_EXPERIMENT_MERGE_REPORT_H_

#include "absl/status/statusor.h"
#include "master/core/model/reports.h"
#include "master/core/model/value.h"

namespace det::experiment {

// Adds the metrics of `report` that `stored`, the earlier report of the same step, lacks. Returns
// them; an empty object if there are none, as for a repeated report. INVALID_ARGUMENT if a metric
// or the metrics of the batches have another value than before; then `stored` does not change.
absl::StatusOr<model::Value> MergeReport(model::MetricReport& stored,
                                         const model::MetricReport& report);

}  // namespace det::experiment

#endif  // MASTER_CORE_EXPERIMENT_MERGE_REPORT_H_
