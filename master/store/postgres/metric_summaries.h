// Reads the summaries of metrics: the rows of metric_summaries, which contain the finite numbers,
// and of other_values, which contain the rest.
//
// Called on any thread; blocks.
#ifndef MASTER_STORE_POSTGRES_METRIC_SUMMARIES_H_
#define MASTER_STORE_POSTGRES_METRIC_SUMMARIES_H_

#include <map>

#include "absl/status/statusor.h"
#include "master/core/model/ids.h"
#include "master/store/interfaces/metric_query.h"
#include "master/store/postgres/connection.h"

namespace det::store {

// The statement whose rows ToSummaries reads; $1: an array of trial IDs.
extern const char kReadSummaries[];

// What a trial has reported.
struct ReportSummary {
  MetricSummaries metrics;
  int64_t steps = 0;  // of the newest report
};

// Trials without reports are left out.
absl::StatusOr<std::map<model::TrialId, ReportSummary>> ToSummaries(const Result& result);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_METRIC_SUMMARIES_H_
