// SqlStore: reads of trials and their checkpoints.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/postgres/metric_summaries.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/query.h"
#include "master/store/postgres/rows.h"
#include "master/store/postgres/sql_store.h"

namespace det::store {
namespace {

const char* GetSortKey(TrialQuery::Sort sort) {
  using Sort = TrialQuery::Sort;
  switch (sort) {
    case Sort::kId:
      return "t.id";
    case Sort::kState:
      return "t.state";
    case Sort::kStartTime:
      return "t.created_at";
    case Sort::kEndTime:
      return "t.ended_at";
    case Sort::kBestMetric:
      return "t.best_metric";
    case Sort::kLatestMetric:
      return "t.latest_metric";
    case Sort::kSteps:
      return "t.steps_completed";
    case Sort::kRestarts:
      return "t.restarts";
    case Sort::kDuration:
      return "coalesce(t.ended_at, now()) - t.created_at";
    case Sort::kCheckpointSize:
      return "(SELECT least(coalesce(sum(c.size), 0), 9223372036854775807) "
             "FROM checkpoints c WHERE c.trial = t.id AND c.state <> 'DELETED')";
    case Sort::kLogDays:
      return "(SELECT coalesce(t.log_days, e.log_days) FROM experiments e "
             "WHERE e.id = t.experiment)";
  }
  return "t.id";
}

// Returns the expression for the number of a validation's metric, or NULL; `name` is an SQL
// expression.
std::string GetNumber(const char* name) {
  return absl::StrCat("CASE json_typeof(v.metrics -> ", name,
                      ") WHEN 'number' THEN (v.metrics ->> ", name, ")::double precision END");
}

std::string GetSortKey(CheckpointQuery::Sort sort) {
  using Sort = CheckpointQuery::Sort;
  switch (sort) {
    case Sort::kTime:
      return "c.time";
    case Sort::kId:
      return "c.id";
    case Sort::kTrial:
      return "c.trial";
    case Sort::kSteps:
      return "c.steps";
    case Sort::kState:
      return "c.state";
    case Sort::kSearcherMetric:
      return absl::StrCat("(CASE WHEN e.smaller_is_better THEN 1 ELSE -1 END * ",
                          GetNumber(kRankingMetric), ")");
    case Sort::kMetric:
      return GetNumber("$4::text");
  }
  return "c.time";
}

// Trials without an end come last; attempts that did not start or end count as zero.
constexpr char kMeanRunTimes[] = R"sql(
SELECT w.id, avg(r.micros)::bigint
FROM (SELECT DISTINCT unnest($1::int[]) AS id) w
CROSS JOIN LATERAL (
  SELECT t.task FROM trials t WHERE t.experiment = w.id AND t.state = 'COMPLETED'
  ORDER BY t.ended_at DESC NULLS LAST, t.id DESC LIMIT $2) t
CROSS JOIN LATERAL (
  SELECT coalesce(sum(extract(epoch FROM a.ended_at - a.started_at) * 1000000), 0) AS micros
  FROM allocations a
  WHERE a.task = t.task AND isfinite(a.started_at) AND isfinite(a.ended_at)) r
GROUP BY w.id)sql";

// Joins the newest attempt's report of a group at the checkpoint's step.
std::string JoinReport(const char* group, const char* name) {
  return absl::StrCat(
      " LEFT JOIN LATERAL (SELECT m.metrics, m.batch FROM metrics m "
      "WHERE m.trial = c.trial AND m.group_name = '",
      group, "' AND m.steps = c.steps ORDER BY m.run_id DESC LIMIT 1) ", name, " ON true");
}

// Selects checkpoints with all columns of an entry. `training`: also the training metrics.
std::string SelectCheckpoints(bool training) {
  return absl::StrCat("SELECT ", kCheckpointColumns, ", t.experiment, t.hparams, ", kRankingMetric,
                      ", e.smaller_is_better, v.metrics, t.task, ",
                      training ? "r.metrics, r.batch" : "NULL, NULL",
                      " FROM checkpoints c JOIN trials t ON t.id = c.trial "
                      "JOIN experiments e ON e.id = t.experiment",
                      JoinReport("validation", "v"), training ? JoinReport("training", "r") : "");
}
constexpr int kSmallerIsBetterColumn = kNumCheckpointColumns + 3;

absl::StatusOr<CheckpointEntry> ToCheckpointEntry(const Result& result, int row) {
  CheckpointEntry entry;
  DET_ASSIGN_OR_RETURN(entry.checkpoint, ToCheckpoint(result, row));
  const int column = kNumCheckpointColumns;
  entry.experiment = model::ExperimentId(static_cast<int32_t>(result.Int(row, column)));
  DET_ASSIGN_OR_RETURN(model::Value hparams, ToValue(result, row, column + 1));
  if (hparams.AsObject() != nullptr) entry.hparams = std::move(*hparams.MutableObject());
  DET_ASSIGN_OR_RETURN(entry.validation_metrics, ToValue(result, row, column + 4));
  entry.task = model::TaskId(std::string(result.Text(row, column + 5)));
  DET_ASSIGN_OR_RETURN(entry.training_metrics, ToValue(result, row, column + 6));
  DET_ASSIGN_OR_RETURN(entry.training_batches, ToValue(result, row, column + 7));
  entry.searcher_metric =
      GetMetricNumber(entry.validation_metrics, std::string(result.Text(row, column + 2)));
  return entry;
}

using TrialsById = std::map<model::TrialId, TrialRecord*>;

// The last validation of each trial whose current attempt has reported numbers. The summaries
// contain its step, so the earlier ones need not be read.
constexpr char kLatestValidations[] = R"sql(
FROM (SELECT DISTINCT ON (s.trial) s.trial, s.last_run, s.last_steps
  FROM metric_summaries s JOIN trials t ON t.id = s.trial AND t.run_id = s.last_run
  WHERE s.trial = ANY($1::int[]) AND s.group_name = 'validation'
  ORDER BY s.trial, s.last_steps DESC) s
CROSS JOIN LATERAL (SELECT * FROM metrics m WHERE m.trial = s.trial AND m.group_name = 'validation'
  AND m.steps >= s.last_steps AND m.run_id = s.last_run ORDER BY m.steps DESC LIMIT 1) m)sql";
// The last validation of the other trials.
constexpr char kOtherValidations[] = R"sql(
FROM (SELECT t.id FROM trials t WHERE t.id = ANY($1::int[]) AND NOT EXISTS (
    SELECT FROM metric_summaries s WHERE s.trial = t.id AND s.group_name = 'validation'
      AND s.last_run = t.run_id)) t
JOIN metrics m ON m.trial = t.id AND m.group_name = 'validation'
ORDER BY m.trial, m.run_id DESC, m.steps DESC)sql";
constexpr char kBestValidations[] = R"sql(
FROM trials t JOIN metrics m ON m.trial = t.id AND m.group_name = 'validation'
  AND m.steps = t.best_steps
WHERE t.id = ANY($1::int[]) AND t.best_metric IS NOT NULL ORDER BY m.trial, m.run_id DESC)sql";

// The columns of a trial and, unless `bare`, its metadata and the log retention that was set for it
// or for its experiment.
std::string SelectTrials(bool bare) {
  constexpr char kSettings[] =
      ", (SELECT d.metadata FROM run_metadata d WHERE d.trial = t.id), "
      "coalesce(t.log_days, (SELECT e.log_days FROM experiments e WHERE e.id = t.experiment))";
  return absl::StrCat("SELECT ", kTrialColumns, bare ? "" : kSettings);
}

absl::Status ReadSettings(const Result& result, int row, TrialRecord* trial) {
  DET_ASSIGN_OR_RETURN(trial->metadata, ToValue(result, row, kNumTrialColumns));
  if (!result.IsNull(row, kNumTrialColumns + 1)) {
    trial->log_days = static_cast<int>(result.Int(row, kNumTrialColumns + 1));
  }
  return absl::OkStatus();
}

// What is read of trials besides their rows, each by a statement.
enum Detail { kLatestValidation, kOtherValidation, kBestValidation, kCheckpoints, kSummaries };

std::vector<std::string> MakeDetailStatements() {
  const std::string reports = absl::StrCat("SELECT DISTINCT ON (m.trial) ", kMetricColumns);
  return {absl::StrCat(reports, kLatestValidations), absl::StrCat(reports, kOtherValidations),
          absl::StrCat(reports, kBestValidations),
          absl::StrCat(SelectCheckpoints(false),
                       " WHERE c.trial = ANY($1::int[]) AND c.state <> 'DELETED'"),
          kReadSummaries};
}

std::string OfOneTrial(std::string_view sql) {
  return absl::StrReplaceAll(absl::string_view(sql.data(), sql.size()),
                             {{"= ANY($1::int[])", "= $1::int"}});
}

absl::Status AddValidations(const Result& rows, std::optional<model::MetricReport> TrialRecord::*to,
                            const TrialsById& trials) {
  for (int row = 0; row < rows.rows(); ++row) {
    DET_ASSIGN_OR_RETURN(model::MetricReport report, ToMetricReport(rows, row));
    trials.at(report.trial)->*to = std::move(report);
  }
  return absl::OkStatus();
}

absl::Status AddCheckpoints(const Result& result, const TrialsById& trials) {
  std::vector<CheckpointEntry> entries;
  std::map<model::TrialId, bool> smaller_is_better;
  for (int row = 0; row < result.rows(); ++row) {
    DET_ASSIGN_OR_RETURN(CheckpointEntry entry, ToCheckpointEntry(result, row));
    smaller_is_better[entry.checkpoint.trial] = result.Bool(row, kSmallerIsBetterColumn);
    entries.push_back(std::move(entry));
  }
  std::map<model::TrialId, std::vector<const CheckpointEntry*>> by_trial;
  for (const CheckpointEntry& entry : entries) by_trial[entry.checkpoint.trial].push_back(&entry);
  for (const auto& [id, checkpoints] : by_trial) {
    TrialRecord& trial = *trials.at(id);
    for (const CheckpointEntry* entry : checkpoints) {
      ++trial.checkpoint_count;
      trial.checkpoint_size += ComputeTotalSize(entry->checkpoint);
    }
    const CheckpointEntry* best = FindBest(checkpoints, smaller_is_better[id]);
    if (best != nullptr) trial.best_checkpoint = best->checkpoint;
  }
  return absl::OkStatus();
}

// Converts rows of SelectTrials() to records, without their details.
absl::StatusOr<std::vector<TrialRecord>> ToTrialRecords(const Result& result, bool bare) {
  std::vector<TrialRecord> records(result.rows());
  for (int row = 0; row < result.rows(); ++row) {
    DET_ASSIGN_OR_RETURN(records[row].trial, ToTrial(result, row));
    if (!bare) DET_RETURN_IF_ERROR(ReadSettings(result, row, &records[row]));
  }
  return records;
}

// `details` are the results of the statements, in the order of Detail.
absl::Status AddDetails(const Result* details, std::vector<TrialRecord>* records) {
  TrialsById trials;
  for (TrialRecord& record : *records) trials[record.trial.id] = &record;
  for (const Detail latest : {kLatestValidation, kOtherValidation}) {
    DET_RETURN_IF_ERROR(AddValidations(details[latest], &TrialRecord::latest_validation, trials));
  }
  DET_RETURN_IF_ERROR(
      AddValidations(details[kBestValidation], &TrialRecord::best_validation, trials));
  DET_RETURN_IF_ERROR(AddCheckpoints(details[kCheckpoints], trials));
  DET_ASSIGN_OR_RETURN(auto summaries, ToSummaries(details[kSummaries]));
  for (auto& [id, summary] : summaries) {
    trials.at(id)->metrics = std::move(summary.metrics);
    trials.at(id)->reported_steps = summary.steps;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TrialRecord> SqlStore::GetTrial(model::TrialId id) {
  // The server keeps one plan of a statement with an integer parameter, but plans one with an array
  // for each array again. Together they cost one round trip.
  static const auto& kStatements = *new auto([] {
    std::vector<std::string> statements = MakeDetailStatements();
    for (std::string& sql : statements) sql = OfOneTrial(sql);
    statements.insert(statements.begin(),
                      absl::StrCat(SelectTrials(false), " FROM trials t WHERE t.id = $1::int"));
    return statements;
  }());
  std::vector<Connection::Statement> statements;
  for (const std::string& sql : kStatements) statements.push_back({sql, MakeParams(id)});
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<TrialRecord> {
    DET_ASSIGN_OR_RETURN(const std::vector<Result> results, connection.ExecTogether(statements));
    if (results[0].rows() == 0) return NoSuch("trial", id);
    DET_ASSIGN_OR_RETURN(std::vector<TrialRecord> records, ToTrialRecords(results[0], false));
    DET_RETURN_IF_ERROR(AddDetails(&results[1], &records));
    return std::move(records[0]);
  });
}

absl::StatusOr<TrialRecord> SqlStore::GetBareTrial(model::TrialId id) {
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<TrialRecord> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(absl::StrCat(SelectTrials(true), " FROM trials t WHERE t.id = $1::int"),
                        MakeParams(id)));
    if (result.rows() == 0) return NoSuch("trial", id);
    DET_ASSIGN_OR_RETURN(std::vector<TrialRecord> records, ToTrialRecords(result, true));
    return std::move(records[0]);
  });
}

absl::StatusOr<std::vector<model::TrialId>> SqlStore::ListTrialIds(model::ExperimentId id) {
  using Ids = std::vector<model::TrialId>;
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<Ids> {
    DET_ASSIGN_OR_RETURN(const Result result,
                         connection.Exec("SELECT id FROM trials WHERE experiment = $1::int "
                                         "ORDER BY id",
                                         MakeParams(id)));
    Ids ids;
    for (int row = 0; row < result.rows(); ++row) {
      ids.emplace_back(static_cast<int32_t>(result.Int(row, 0)));
    }
    return ids;
  });
}

absl::StatusOr<TrialPage> SqlStore::ListTrials(const TrialQuery& query) {
  const char* condition = "t.experiment = $1";
  Param which = ToParam(query.experiment);
  if (query.warm_start) {
    condition = "t.warm_start = $1";
    which = ToParam(*query.warm_start);
  } else if (!query.ids.empty()) {
    condition = "t.id = ANY($1::int[])";
    which = ToArray(query.ids);
  }
  const std::string from = absl::StrCat(" FROM trials t WHERE ", condition,
                                        " AND ($2::text[] IS NULL OR t.state = ANY($2))");
  const Params params = {std::move(which), ToStateFilter(query.states)};
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<TrialPage> {
    DET_ASSIGN_OR_RETURN(
        const WindowRows window,
        ReadWindow(connection, absl::StrCat("SELECT count(*)", from),
                   absl::StrCat(SelectTrials(query.bare), from,
                                OrderBy(GetSortKey(query.sort), "t.id", query.descending)),
                   params, query.window));
    TrialPage page;
    page.total = window.total;
    DET_ASSIGN_OR_RETURN(page.trials, ToTrialRecords(window.rows, query.bare));
    if (query.bare || page.trials.empty()) return page;
    static const auto& kStatements = *new auto(MakeDetailStatements());
    std::vector<model::TrialId> ids;
    for (const TrialRecord& record : page.trials) ids.push_back(record.trial.id);
    std::vector<Connection::Statement> statements;
    for (const std::string& sql : kStatements) statements.push_back({sql, {ToArray(ids)}});
    DET_ASSIGN_OR_RETURN(const std::vector<Result> details, connection.ExecTogether(statements));
    DET_RETURN_IF_ERROR(AddDetails(details.data(), &page.trials));
    return page;
  });
}

absl::StatusOr<std::map<model::ExperimentId, absl::Duration>> SqlStore::GetMeanRunTimes(
    const std::vector<model::ExperimentId>& experiments, int newest) {
  using Means = std::map<model::ExperimentId, absl::Duration>;
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<Means> {
    DET_ASSIGN_OR_RETURN(const Result result,
                         connection.Exec(kMeanRunTimes, {ToArray(experiments), ToParam(newest)}));
    Means means;
    for (int row = 0; row < result.rows(); ++row) {
      means[model::ExperimentId(static_cast<int32_t>(result.Int(row, 0)))] =
          absl::Microseconds(result.Int(row, 1));
    }
    return means;
  });
}

absl::StatusOr<CheckpointEntry> SqlStore::GetCheckpoint(const model::CheckpointId& id) {
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<CheckpointEntry> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(absl::StrCat(SelectCheckpoints(true), " WHERE c.id = $1"), MakeParams(id)));
    if (result.rows() == 0) return NoSuch("checkpoint", id);
    return ToCheckpointEntry(result, 0);
  });
}

absl::StatusOr<CheckpointPage> SqlStore::ListCheckpoints(const CheckpointQuery& query) {
  // The fourth parameter is only for the order, but each statement must use all of them.
  std::string where =
      " WHERE ($1::int IS NULL OR t.experiment = $1) AND ($2::int IS NULL OR c.trial = $2) "
      "AND ($3::text[] IS NULL OR c.state = ANY($3)) AND ($4::text IS NULL OR true)";
  Params params = {ToParam(query.experiment), ToParam(query.trial), ToStateFilter(query.states),
                   ToParam(query.metric)};
  if (!query.ids.empty()) {
    where += " AND c.id = ANY($5::text[])";
    params.push_back(ToArray(query.ids));
  }
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<CheckpointPage> {
    DET_ASSIGN_OR_RETURN(
        const WindowRows window,
        ReadWindow(connection,
                   absl::StrCat("SELECT count(*) FROM checkpoints c "
                                "JOIN trials t ON t.id = c.trial",
                                where),
                   absl::StrCat(SelectCheckpoints(true), where,
                                OrderBy(GetSortKey(query.sort).c_str(), "c.time", query.descending),
                                query.descending ? ", c.id DESC" : ", c.id"),
                   params, query.window));
    CheckpointPage page;
    page.total = window.total;
    for (int row = 0; row < window.rows.rows(); ++row) {
      DET_ASSIGN_OR_RETURN(page.checkpoints.emplace_back(), ToCheckpointEntry(window.rows, row));
    }
    return page;
  });
}

}  // namespace det::store
