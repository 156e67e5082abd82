// Conversion between rows and structs: the only place that knows the columns of the cluster's
// tables. Called by the sources of this folder on their callers' threads. Never accesses the
// database.
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

// The statement for a change. `known`: the row of this experiment is in the database, so columns
// that never change (mainly its configuration) are not sent again.
Connection::Statement ToStatement(const cluster::Change& change, bool known);

// One statement for many trials, each of which occurs once.
Connection::Statement PutTrials(const std::vector<const experiment::Trial*>& trials);
// One statement for many rows; existing rows are skipped.
Connection::Statement InsertMetrics(const std::vector<const model::MetricReport*>& reports);
Connection::Statement InsertLogLines(const std::vector<const model::LogLine*>& lines);
// Must precede InsertLogLines in its transaction: makes ids visible in order, so that a reader that
// asks for lines after the last id misses none.
Connection::Statement LockLog();

// Columns for a SELECT, and their conversion to a struct; `column` is the index of the first one.
// INTERNAL if a row is invalid.
extern const char kExperimentColumns[];  // columns of kExperimentTables
extern const char kExperimentTables[];   // experiments e with their projects p and workspaces w
inline constexpr int kNumExperimentColumns = 35;
absl::StatusOr<experiment::Experiment> ToExperiment(const Result& result, int row, int column = 0);

extern const char kTrialColumns[];  // columns of trials as t
inline constexpr int kNumTrialColumns = 31;
absl::StatusOr<experiment::Trial> ToTrial(const Result& result, int row, int column = 0);

extern const char kTaskColumns[];  // columns of kTaskTables
extern const char kTaskTables[];   // tasks k with their workspaces w
inline constexpr int kNumTaskColumns = 26;
absl::StatusOr<experiment::Task> ToTask(const Result& result, int row);

extern const char kAllocationColumns[];  // columns of allocations as a
absl::StatusOr<experiment::Allocation> ToAllocation(const Result& result, int row);

extern const char kMetricColumns[];  // columns of metrics as m
// For an experiment as e: the metric that ranks trials; with several objectives, the first.
extern const char kRankingMetric[];
absl::StatusOr<model::MetricReport> ToMetricReport(const Result& result, int row);

extern const char kCheckpointColumns[];  // columns of checkpoints as c
inline constexpr int kNumCheckpointColumns = 9;
absl::StatusOr<model::CheckpointRecord> ToCheckpoint(const Result& result, int row);

extern const char kLogColumns[];  // columns of task_logs as l
LogRecord ToLogRecord(const Result& result, int row);

absl::StatusOr<model::Value> ToValue(const Result& result, int row, int column);

// Parts of JSON documents.
model::Value ToDocument(const model::Resources& resources);
model::Resources ToResources(const model::Value& value);
model::Value ToDocument(const std::vector<std::string>& texts);
std::vector<std::string> ToTexts(const model::Value& value);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_ROWS_H_
