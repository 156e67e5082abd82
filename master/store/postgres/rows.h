// Rows to structs and back: the only place that knows the columns of the cluster's tables.
// Called by the store's parts on their threads. Never talks to the database.
#ifndef MASTER_STORE_POSTGRES_ROWS_H_
#define MASTER_STORE_POSTGRES_ROWS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "master/core/cluster/change.h"
#include "master/core/model/file_globs.h"
#include "master/store/interfaces/records.h"
#include "master/store/postgres/connection.h"

namespace det::store {

// What makes a change. `known`: the row of this experiment is in the database, so what never
// changes (its configuration above all) is not sent again.
Connection::Statement ToStatement(const cluster::Change& change, bool known);

// One statement for many; rows that exist are skipped.
Connection::Statement InsertMetrics(const std::vector<const model::MetricReport*>& reports);
Connection::Statement InsertLogLines(const std::vector<const model::LogLine*>& lines);
// Before InsertLogLines in its transaction: ids become visible in their order, so that a reader who
// asks for what came after the last id misses nothing.
Connection::Statement LockLog();

// Columns for a SELECT, and the struct from them, of which the first is at `column`. INTERNAL for a
// row that does not make sense.
extern const char kExperimentColumns[];  // of kExperimentTables
extern const char kExperimentTables[];   // experiments e with their projects p and workspaces w
inline constexpr int kNumExperimentColumns = 33;
absl::StatusOr<experiment::Experiment> ToExperiment(const Result& result, int row, int column = 0);

extern const char kTrialColumns[];  // of trials as t
inline constexpr int kNumTrialColumns = 28;
absl::StatusOr<experiment::Trial> ToTrial(const Result& result, int row, int column = 0);

extern const char kAllocationColumns[];  // of allocations as a
absl::StatusOr<experiment::Allocation> ToAllocation(const Result& result, int row);

extern const char kMetricColumns[];  // of metrics as m
// Of an experiment as e: the metric that trials are ranked by; of several objectives, the first.
extern const char kRankingMetric[];
absl::StatusOr<model::MetricReport> ToMetricReport(const Result& result, int row);

extern const char kCheckpointColumns[];  // of checkpoints as c
inline constexpr int kNumCheckpointColumns = 8;
absl::StatusOr<model::CheckpointRecord> ToCheckpoint(const Result& result, int row);

extern const char kLogColumns[];  // of task_logs as l
LogRecord ToLogRecord(const Result& result, int row);

absl::StatusOr<model::Value> ToValue(const Result& result, int row, int column);

// Parts of documents.
model::Value ToDocument(const model::Resources& resources);
model::Resources ToResources(const model::Value& value);
model::Value ToDocument(const std::vector<std::string>& texts);
std::vector<std::string> ToTexts(const model::Value& value);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_ROWS_H_
