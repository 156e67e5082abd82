// SqlStore: answers from the cluster's rows.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/store/canonical.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/rows.h"
#include "master/store/postgres/sql_store.h"

namespace det::store {
namespace {

template <class Id>
absl::Status NoSuch(const char* what, const Id& id) {
  return absl::NotFoundError(absl::StrCat(what, " ", ToString(id), " does not exist"));
}

// As an array, or NULL when the list is empty, which means no filter.
template <class T>
Param ToFilter(const std::vector<T>& values) {
  return values.empty() ? Param{} : ToArray(values);
}

template <class State>
Param ToStateFilter(const std::vector<State>& states) {
  std::vector<std::string> texts;
  for (const State state : states) texts.emplace_back(ToString(state));
  return ToFilter(texts);
}

// "ORDER BY <key>, <id>", both in the same direction; rows without a key come last.
std::string OrderBy(const char* key, const char* id, bool descending) {
  const char* direction = descending ? " DESC" : " ASC";
  return absl::StrCat(" ORDER BY ", key, direction, " NULLS LAST, ", id, direction);
}

// Counts with `count_sql`, then reads the window with `sql` + OFFSET and LIMIT.
absl::StatusOr<std::pair<Result, int>> ReadWindow(Connection& connection,
                                                  const std::string& count_sql,
                                                  const std::string& sql, Params params,
                                                  const Window& window) {
  DET_ASSIGN_OR_RETURN(const Result count, connection.Exec(count_sql, params));
  const int total = static_cast<int>(count.Int(0, 0));
  const Range range = Resolve(window, total);
  const std::string first = absl::StrCat("$", params.size() + 1);
  const std::string most = absl::StrCat("$", params.size() + 2);
  params.push_back(ToParam(range.begin));
  params.push_back(ToParam(range.end - range.begin));
  DET_ASSIGN_OR_RETURN(
      Result rows,
      connection.Exec(absl::StrCat(sql, " OFFSET ", first, "::bigint LIMIT ", most, "::bigint"),
                      params));
  return std::pair(std::move(rows), total);
}

constexpr char kExperimentSources[] = R"sql(
FROM experiments e
LEFT JOIN users u ON u.id = e.owner
LEFT JOIN contexts x ON x.hash = e.context_hash)sql";

constexpr char kExperimentTotals[] = R"sql(
CROSS JOIN LATERAL (SELECT count(*) AS trials FROM trials t WHERE t.experiment = e.id) n
CROSS JOIN LATERAL (SELECT count(*) AS checkpoints, coalesce(sum(c.size), 0) AS size
  FROM checkpoints c JOIN trials t ON t.id = c.trial WHERE t.experiment = e.id) s)sql";

std::string SelectExperiments() {
  return absl::StrCat("SELECT ", kExperimentColumns,
                      ", coalesce(u.username, ''), n.trials, s.checkpoints, s.size, "
                      "coalesce(octet_length(x.tgz), 0)",
                      kExperimentSources, kExperimentTotals);
}

absl::StatusOr<ExperimentRecord> ToExperimentRecord(const Result& result, int row) {
  ExperimentRecord record;
  DET_ASSIGN_OR_RETURN(record.experiment, ToExperiment(result, row));
  int column = kNumExperimentColumns;
  record.username = std::string(result.Text(row, column++));
  record.num_trials = static_cast<int>(result.Int(row, column++));
  record.checkpoint_count = static_cast<int>(result.Int(row, column++));
  record.checkpoint_size = result.Int(row, column++);
  record.context_size = result.Int(row, column++);
  return record;
}

const char* KeyOf(ExperimentQuery::Sort sort) {
  using Sort = ExperimentQuery::Sort;
  switch (sort) {
    case Sort::kId:
      return "e.id";
    case Sort::kName:
      return "e.name";
    case Sort::kState:
      return "e.state";
    case Sort::kStartTime:
      return "e.created_at";
    case Sort::kEndTime:
      return "e.ended_at";
    case Sort::kNumTrials:
      return "n.trials";
    case Sort::kProgress:
      return "e.progress";
    case Sort::kUser:
      return "coalesce(u.username, '')";
  }
  return "e.id";
}

const char* KeyOf(TrialQuery::Sort sort) {
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
  }
  return "t.id";
}

// Checkpoints with all that an entry holds: the newest run's validation at their step.
std::string SelectCheckpoints() {
  return absl::StrCat("SELECT ", kCheckpointColumns,
                      ", t.experiment, t.hparams, e.config #>> '{searcher,metric}', "
                      "e.config #>> '{searcher,smaller_is_better}', v.metrics "
                      "FROM checkpoints c JOIN trials t ON t.id = c.trial "
                      "JOIN experiments e ON e.id = t.experiment "
                      "LEFT JOIN LATERAL (SELECT m.metrics FROM metrics m WHERE m.trial = c.trial "
                      "AND m.group_name = 'validation' AND m.steps = c.steps "
                      "ORDER BY m.run_id DESC LIMIT 1) v ON true");
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
  entry.searcher_metric =
      MetricNumber(entry.validation_metrics, std::string(result.Text(row, column + 2)));
  return entry;
}

using TrialsById = std::map<model::TrialId, TrialRecord*>;

absl::Status AddValidations(Connection& connection, const Param& ids, const TrialsById& trials) {
  DET_ASSIGN_OR_RETURN(
      const Result latest,
      connection.Exec(absl::StrCat("SELECT DISTINCT ON (m.trial) ", kMetricColumns,
                                   " FROM metrics m WHERE m.trial = ANY($1::int[]) "
                                   "AND m.group_name = 'validation' "
                                   "ORDER BY m.trial, m.run_id DESC, m.steps DESC"),
                      {ids}));
  for (int row = 0; row < latest.rows(); ++row) {
    DET_ASSIGN_OR_RETURN(model::MetricReport report, ToMetricReport(latest, row));
    trials.at(report.trial)->latest_validation = std::move(report);
  }
  DET_ASSIGN_OR_RETURN(
      const Result best,
      connection.Exec(absl::StrCat("SELECT DISTINCT ON (m.trial) ", kMetricColumns,
                                   " FROM trials t JOIN metrics m ON m.trial = t.id "
                                   "AND m.group_name = 'validation' AND m.steps = t.best_steps "
                                   "WHERE t.id = ANY($1::int[]) AND t.best_metric IS NOT NULL "
                                   "ORDER BY m.trial, m.run_id DESC"),
                      {ids}));
  for (int row = 0; row < best.rows(); ++row) {
    DET_ASSIGN_OR_RETURN(model::MetricReport report, ToMetricReport(best, row));
    trials.at(report.trial)->best_validation = std::move(report);
  }
  return absl::OkStatus();
}

absl::Status AddCheckpoints(Connection& connection, const Param& ids, const TrialsById& trials) {
  DET_ASSIGN_OR_RETURN(
      const Result result,
      connection.Exec(absl::StrCat(SelectCheckpoints(), " WHERE c.trial = ANY($1::int[])"), {ids}));
  std::vector<CheckpointEntry> entries;
  std::map<model::TrialId, bool> smaller_is_better;
  for (int row = 0; row < result.rows(); ++row) {
    DET_ASSIGN_OR_RETURN(CheckpointEntry entry, ToCheckpointEntry(result, row));
    smaller_is_better[entry.checkpoint.trial] = result.Text(row, kSmallerIsBetterColumn) == "true";
    entries.push_back(std::move(entry));
  }
  std::map<model::TrialId, std::vector<const CheckpointEntry*>> by_trial;
  for (const CheckpointEntry& entry : entries) by_trial[entry.checkpoint.trial].push_back(&entry);
  for (const auto& [id, checkpoints] : by_trial) {
    TrialRecord& trial = *trials.at(id);
    trial.checkpoint_count = static_cast<int>(checkpoints.size());
    for (const CheckpointEntry* entry : checkpoints) {
      trial.checkpoint_size += TotalSize(entry->checkpoint);
    }
    const CheckpointEntry* best = FindBest(checkpoints, smaller_is_better[id]);
    if (best != nullptr) trial.best_checkpoint = best->checkpoint;
  }
  return absl::OkStatus();
}

// Records from rows of kTrialColumns.
absl::StatusOr<std::vector<TrialRecord>> ToTrialRecords(Connection& connection,
                                                        const Result& result) {
  std::vector<TrialRecord> records(result.rows());
  std::vector<model::TrialId> ids;
  TrialsById by_id;
  for (int row = 0; row < result.rows(); ++row) {
    DET_ASSIGN_OR_RETURN(records[row].trial, ToTrial(result, row));
    ids.push_back(records[row].trial.id);
    by_id[ids.back()] = &records[row];
  }
  if (ids.empty()) return records;
  const Param array = ToArray(ids);
  DET_RETURN_IF_ERROR(AddValidations(connection, array, by_id));
  DET_RETURN_IF_ERROR(AddCheckpoints(connection, array, by_id));
  return records;
}

}  // namespace

absl::StatusOr<ExperimentRecord> SqlStore::GetExperiment(model::ExperimentId id) {
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<ExperimentRecord> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(absl::StrCat(SelectExperiments(), " WHERE e.id = $1"), MakeParams(id)));
    if (result.rows() == 0) return NoSuch("experiment", id);
    return ToExperimentRecord(result, 0);
  });
}

absl::StatusOr<ExperimentPage> SqlStore::ListExperiments(const ExperimentQuery& query) {
  constexpr char kWhere[] =
      " WHERE strpos(lower(e.name), lower($1)) > 0 AND ($2::text[] IS NULL OR e.state = ANY($2)) "
      "AND ($3::text[] IS NULL OR coalesce(u.username, '') = ANY($3))";
  const Params params = {ToParam(query.name), ToStateFilter(query.states),
                         ToFilter(query.usernames)};
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<ExperimentPage> {
    DET_ASSIGN_OR_RETURN(
        const auto window,
        ReadWindow(connection, absl::StrCat("SELECT count(*)", kExperimentSources, kWhere),
                   absl::StrCat(SelectExperiments(), kWhere,
                                OrderBy(KeyOf(query.sort), "e.id", query.descending)),
                   params, query.window));
    ExperimentPage page;
    page.total = window.second;
    for (int row = 0; row < window.first.rows(); ++row) {
      DET_ASSIGN_OR_RETURN(page.experiments.emplace_back(), ToExperimentRecord(window.first, row));
    }
    return page;
  });
}

absl::StatusOr<TrialRecord> SqlStore::GetTrial(model::TrialId id) {
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<TrialRecord> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(absl::StrCat("SELECT ", kTrialColumns, " FROM trials t WHERE t.id = $1"),
                        MakeParams(id)));
    if (result.rows() == 0) return NoSuch("trial", id);
    DET_ASSIGN_OR_RETURN(std::vector<TrialRecord> records, ToTrialRecords(connection, result));
    return std::move(records[0]);
  });
}

absl::StatusOr<TrialPage> SqlStore::ListTrials(const TrialQuery& query) {
  constexpr char kFrom[] =
      " FROM trials t WHERE t.experiment = $1 AND ($2::text[] IS NULL OR t.state = ANY($2))";
  const Params params = {ToParam(query.experiment), ToStateFilter(query.states)};
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<TrialPage> {
    DET_ASSIGN_OR_RETURN(
        const auto window,
        ReadWindow(connection, absl::StrCat("SELECT count(*)", kFrom),
                   absl::StrCat("SELECT ", kTrialColumns, kFrom,
                                OrderBy(KeyOf(query.sort), "t.id", query.descending)),
                   params, query.window));
    TrialPage page;
    page.total = window.second;
    DET_ASSIGN_OR_RETURN(page.trials, ToTrialRecords(connection, window.first));
    return page;
  });
}

absl::StatusOr<std::vector<experiment::Allocation>> SqlStore::ListAllocations(
    const model::TaskId& task) {
  using Allocations = std::vector<experiment::Allocation>;
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<Allocations> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(absl::StrCat("SELECT ", kAllocationColumns, " FROM allocations a ",
                                     "WHERE a.task = $1 ORDER BY a.run_id, a.id"),
                        MakeParams(task)));
    Allocations allocations;
    for (int row = 0; row < result.rows(); ++row) {
      DET_ASSIGN_OR_RETURN(allocations.emplace_back(), ToAllocation(result, row));
    }
    return allocations;
  });
}

absl::StatusOr<experiment::Allocation> SqlStore::GetAllocation(const model::AllocationId& id) {
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<experiment::Allocation> {
    DET_ASSIGN_OR_RETURN(const Result result,
                         connection.Exec(absl::StrCat("SELECT ", kAllocationColumns,
                                                      " FROM allocations a WHERE a.id = $1"),
                                         MakeParams(id)));
    if (result.rows() == 0) return NoSuch("allocation", id);
    return ToAllocation(result, 0);
  });
}

absl::StatusOr<std::vector<model::MetricReport>> SqlStore::ListMetrics(
    const std::vector<model::TrialId>& trials, const std::string& group) {
  using Reports = std::vector<model::MetricReport>;
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<Reports> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(
            absl::StrCat("SELECT DISTINCT ON (m.trial, m.group_name, m.steps) ", kMetricColumns,
                         " FROM metrics m WHERE m.trial = ANY($1::int[]) "
                         "AND ($2 = '' OR m.group_name = $2) "
                         "ORDER BY m.trial, m.group_name, m.steps, m.run_id DESC"),
            {ToArray(trials), ToParam(group)}));
    Reports reports;
    reports.reserve(result.rows());
    for (int row = 0; row < result.rows(); ++row) {
      DET_ASSIGN_OR_RETURN(reports.emplace_back(), ToMetricReport(result, row));
    }
    return reports;
  });
}

absl::StatusOr<CheckpointEntry> SqlStore::GetCheckpoint(const model::CheckpointId& id) {
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<CheckpointEntry> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(absl::StrCat(SelectCheckpoints(), " WHERE c.id = $1"), MakeParams(id)));
    if (result.rows() == 0) return NoSuch("checkpoint", id);
    return ToCheckpointEntry(result, 0);
  });
}

absl::StatusOr<CheckpointPage> SqlStore::ListCheckpoints(const CheckpointQuery& query) {
  constexpr char kWhere[] =
      " WHERE ($1::int IS NULL OR t.experiment = $1) AND ($2::int IS NULL OR c.trial = $2)";
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<CheckpointPage> {
    DET_ASSIGN_OR_RETURN(const auto window,
                         ReadWindow(connection,
                                    absl::StrCat("SELECT count(*) FROM checkpoints c "
                                                 "JOIN trials t ON t.id = c.trial",
                                                 kWhere),
                                    absl::StrCat(SelectCheckpoints(), kWhere,
                                                 OrderBy("c.time", "c.id", query.descending)),
                                    MakeParams(query.experiment, query.trial), query.window));
    CheckpointPage page;
    page.total = window.second;
    for (int row = 0; row < window.first.rows(); ++row) {
      DET_ASSIGN_OR_RETURN(page.checkpoints.emplace_back(), ToCheckpointEntry(window.first, row));
    }
    return page;
  });
}

absl::StatusOr<std::vector<LogRecord>> SqlStore::ListLogs(const LogQuery& query) {
  constexpr char kWhere[] =
      " FROM task_logs l WHERE l.task = $1 AND l.id > $2 "
      "AND ($3::text[] IS NULL OR l.allocation = ANY($3)) "
      "AND ($4::text[] IS NULL OR l.agent = ANY($4)) AND ($5::int[] IS NULL OR l.rank = ANY($5)) "
      "AND ($6::int[] IS NULL OR l.level = ANY($6)) "
      "AND ($7::text[] IS NULL OR l.stdtype = ANY($7)) "
      "AND ($8::text[] IS NULL OR l.source = ANY($8)) "
      "AND ($9::timestamptz IS NULL OR l.time < $9) "
      "AND ($10::timestamptz IS NULL OR l.time > $10) AND strpos(l.text, $11) > 0 ORDER BY l.id ";
  std::vector<int> levels;
  for (const model::LogLevel level : query.levels) levels.push_back(static_cast<int>(level));
  const Params params = {
      ToParam(query.task),      ToParam(query.after_id), ToFilter(query.allocations),
      ToFilter(query.agents),   ToFilter(query.ranks),   ToFilter(levels),
      ToFilter(query.stdtypes), ToFilter(query.sources), ToParam(query.before),
      ToParam(query.after),     ToParam(query.contains), ToParam(std::max(query.limit, 0))};
  const std::string sql = absl::StrCat("SELECT ", kLogColumns, kWhere,
                                       query.descending ? "DESC" : "ASC", " LIMIT $12::bigint");
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<std::vector<LogRecord>> {
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(sql, params));
    std::vector<LogRecord> records;
    records.reserve(result.rows());
    for (int row = 0; row < result.rows(); ++row) records.push_back(ToLogRecord(result, row));
    return records;
  });
}

}  // namespace det::store
