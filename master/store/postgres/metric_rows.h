// Stores reports of metrics.
#ifndef MASTER_STORE_POSTGRES_METRIC_ROWS_H_
#define MASTER_STORE_POSTGRES_METRIC_ROWS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "master/core/model/reports.h"
#include "master/core/model/value.h"
#include "master/store/postgres/connection.h"

namespace det::store {

// The metrics of a report that were stored, without those that an earlier report has stored.
// INVALID_ARGUMENT if it changes a value: then nothing of it is stored.
using AddedMetrics = absl::StatusOr<model::Value>;

// Stores reports, in order. A report of a step that exists already adds its new metrics to it; a
// repeated report adds none. Returns what each has added; an error only if a statement has failed.
//
// REQUIRES canonical reports and a transaction.
absl::StatusOr<std::vector<AddedMetrics>> StoreReports(
    Connection& connection, const std::vector<const model::MetricReport*>& reports);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_METRIC_ROWS_H_
