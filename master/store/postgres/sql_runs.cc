#include "master/store/postgres/sql_runs.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/postgres/metric_summaries.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/rows.h"
#include "master/store/postgres/search_sql.h"

namespace det::store {
namespace {

constexpr char kProjects[] =
    "SELECT id FROM projects WHERE ($1::int = 0 OR id = $1) "
    "AND ($2::int[] IS NULL OR workspace = ANY($2))";

constexpr char kMore[] = R"sql(
, e.name, e.description, e.labels, e.owner, e.searcher_name,
  $METRIC, e.forked_from, e.resource_pool, e.progress, e.archived,
  e.project, coalesce(p.name, ''), coalesce(p.key, ''), coalesce(p.workspace, 1),
  coalesce(w.name, ''), coalesce(p.archived OR w.archived, false), k.number, k.size, d.metadata,
  e.unmanaged, e.external_id
FROM trials t JOIN experiments e ON e.id = t.experiment
LEFT JOIN projects p ON p.id = e.project LEFT JOIN workspaces w ON w.id = p.workspace
LEFT JOIN run_metadata d ON d.trial = t.id
CROSS JOIN LATERAL (SELECT count(*) AS number,
    least(coalesce(sum(c.size), 0), 9223372036854775807) AS size
  FROM checkpoints c WHERE c.trial = t.id AND c.state <> 'DELETED') k
WHERE t.id = ANY($1::int[]))sql";

// Skips from one name to the next in the index instead of reading all rows.
constexpr char kValueColumns[] = R"sql(
WITH RECURSIVE k (key, number) AS (
  (SELECT v.key, v.number FROM run_values v WHERE v.project = $1
   ORDER BY v.key, v.number LIMIT 1)
UNION ALL
  SELECT n.key, n.number FROM k CROSS JOIN LATERAL (
    SELECT v.key, v.number FROM run_values v WHERE v.project = $1 AND v.key > k.key
    ORDER BY v.key, v.number LIMIT 1) n
)
SELECT key, number IS NOT NULL FROM k)sql";
constexpr char kNames[] = R"sql(
WITH RECURSIVE k (group_name, metric) AS (
  (SELECT s.group_name, s.metric FROM metric_summaries s WHERE s.project = $1
   ORDER BY s.group_name, s.metric LIMIT 1)
UNION ALL
  SELECT n.group_name, n.metric FROM k CROSS JOIN LATERAL (
    (SELECT s.group_name, s.metric FROM metric_summaries s
     WHERE s.project = $1 AND s.group_name = k.group_name AND s.metric > k.metric
     ORDER BY s.group_name, s.metric LIMIT 1)
    UNION ALL
    (SELECT s.group_name, s.metric FROM metric_summaries s
     WHERE s.project = $1 AND s.group_name > k.group_name
     ORDER BY s.group_name, s.metric LIMIT 1)
    ORDER BY 1, 2 LIMIT 1) n
)
SELECT group_name, metric FROM k)sql";
constexpr char kNamesOfExperiments[] = R"sql(
SELECT s.group_name, s.metric FROM trials t JOIN metric_summaries s ON s.trial = t.id
WHERE t.experiment = ANY($1::int[])
UNION
SELECT o.group_name, o.metric FROM trials t JOIN other_values o ON o.trial = t.id
WHERE t.experiment = ANY($1::int[]) ORDER BY 1, 2)sql";
constexpr char kRanges[] =
    "SELECT s.group_name, s.metric, min(s.min), max(s.max) FROM metric_summaries s "
    "WHERE s.project = $1 GROUP BY 1, 2 ORDER BY 1, 2";

constexpr char kPutMetadata[] =
    "INSERT INTO run_metadata (trial, metadata) SELECT id, $2::json FROM trials WHERE id = $1 "
    "ON CONFLICT (trial) DO UPDATE SET metadata = excluded.metadata RETURNING trial";
// Same lock as in the functions that write summaries (migration 013): a move waits for this
// transaction, or is visible to it.
constexpr char kHoldProjects[] = "SELECT pg_advisory_xact_lock_shared(7241900303)";
constexpr char kDropValues[] =
    "DELETE FROM run_values WHERE trial = $1 AND key >= 'metadata.' AND key < 'metadata/'";
constexpr char kPutValues[] =
    "INSERT INTO run_values (trial, key, project, number, text) "
    "SELECT t.id, l.key, t.project, l.number, l.text "
    "FROM trials t CROSS JOIN LATERAL leaves('metadata', $2::json) l WHERE t.id = $1";
constexpr char kMetadataValues[] =
    "SELECT DISTINCT v.text FROM run_values v WHERE v.project = $1 AND v.key = $2 "
    "AND v.text IS NOT NULL ORDER BY 1 LIMIT 1000";

struct FoundIds {
  std::vector<int32_t> ids;
  int total = 0;
};

absl::StatusOr<std::vector<int32_t>> ReadIds(Connection& connection, const SearchSql& sql,
                                             const Range& range) {
  DET_ASSIGN_OR_RETURN(
      const Result rows,
      connection.ExecOnce(sql.Page(range.begin, range.end - range.begin), sql.params));
  std::vector<int32_t> ids;
  for (int row = 0; row < rows.rows(); ++row) {
    ids.push_back(static_cast<int32_t>(rows.Int(row, 0)));
  }
  return ids;
}

// Uses one statement, so that the condition is evaluated once. Returns nullopt if the window is
// behind the last row, or counts from it.
absl::StatusOr<std::optional<FoundIds>> FindCounted(Connection& connection, const SearchSql& sql,
                                                    const Window& window) {
  if (window.offset < 0 || window.limit <= 0) return std::nullopt;
  DET_ASSIGN_OR_RETURN(
      const Result rows,
      connection.ExecOnce(sql.CountedPage(window.offset, window.limit), sql.params));
  if (rows.rows() == 0 && window.offset > 0) return std::nullopt;
  FoundIds found;
  for (int row = 0; row < rows.rows(); ++row) {
    found.ids.push_back(static_cast<int32_t>(rows.Int(row, 0)));
    found.total = static_cast<int>(rows.Int(row, 1));
  }
  return found;
}

absl::StatusOr<Param> ReadProjects(Connection& connection, const RunQuery& query) {
  DET_ASSIGN_OR_RETURN(
      const Result rows,
      connection.Exec(kProjects,
                      {ToParam(query.project), query.visible ? ToArray(*query.visible) : Param{}}));
  ArrayBuilder projects;
  for (int row = 0; row < rows.rows(); ++row) projects.Add(ToParam(rows.Int(row, 0)));
  return std::move(projects).Finish();
}

absl::StatusOr<FoundIds> Find(Connection& connection, Table table, const RunQuery& query) {
  DET_ASSIGN_OR_RETURN(const Param projects, ReadProjects(connection, query));
  const Search& search = query.search;
  const SearchSql sql = ToSql(table, search, projects);
  const bool asks = search.filter.condition.has_value() || !search.filter.parts.empty();
  // No index contains runs in the order of a metric, so all are read for a page, as for the count.
  if (asks && !search.order.empty() && search.order.front().column.kind == Column::Kind::kMetric) {
    DET_ASSIGN_OR_RETURN(std::optional<FoundIds> found, FindCounted(connection, sql, query.window));
    if (found) return *std::move(found);
  }
  FoundIds found;
  DET_ASSIGN_OR_RETURN(
      const Result count,
      connection.ExecOnce(sql.Count(),
                          {sql.params.begin(), sql.params.begin() + sql.num_filter_params}));
  found.total = static_cast<int>(count.Int(0, 0));
  const Range range = Resolve(query.window, found.total);
  if (range.begin == range.end) return found;
  // Rows without a key come last, and often those with a key suffice.
  for (const SearchedRows rows : {SearchedRows::kNumbersByProject, SearchedRows::kHavingKey}) {
    if (!CanSearch(table, search, rows)) continue;
    DET_ASSIGN_OR_RETURN(found.ids,
                         ReadIds(connection, ToSql(table, search, projects, rows), range));
    if (static_cast<int>(found.ids.size()) == range.end - range.begin) return found;
  }
  DET_ASSIGN_OR_RETURN(found.ids, ReadIds(connection, sql, range));
  return found;
}

absl::Status AddTexts(const absl::StatusOr<model::Value>& list, std::vector<std::string>& texts) {
  DET_RETURN_IF_ERROR(list.status());
  if (list->AsList() == nullptr) return absl::OkStatus();
  for (const model::Value& item : *list->AsList()) {
    if (item.AsString() != nullptr) texts.push_back(*item.AsString());
  }
  return absl::OkStatus();
}

absl::StatusOr<RunRecord> ToRun(const Result& result, int row) {
  RunRecord run;
  DET_ASSIGN_OR_RETURN(run.trial, ToTrial(result, row));
  int column = kNumTrialColumns;
  const auto text = [&] { return std::string(result.Text(row, column++)); };
  const auto number = [&] { return static_cast<int32_t>(result.Int(row, column++)); };
  run.name = text();
  run.description = text();
  DET_RETURN_IF_ERROR(AddTexts(ToValue(result, row, column++), run.labels));
  run.owner = model::UserId(number());
  run.searcher = text();
  run.searcher_metric = text();
  if (!result.IsNull(row, column))
    run.forked_from.emplace(static_cast<int32_t>(result.Int(row, column)));
  ++column;
  run.resource_pool = text();
  run.progress = result.Double(row, column++);
  run.archived = result.Bool(row, column++);
  run.project = number();
  run.project_name = text();
  run.project_key = text();
  run.workspace = number();
  run.workspace_name = text();
  run.parent_archived = result.Bool(row, column++);
  run.checkpoint_count = number();
  run.checkpoint_size = result.Int(row, column++);
  DET_ASSIGN_OR_RETURN(run.metadata, ToValue(result, row, column++));
  run.unmanaged = result.Bool(row, column++);
  if (!result.IsNull(row, column)) run.external_experiment_id = text();
  return run;
}

absl::StatusOr<std::vector<RunRecord>> ReadRuns(Connection& connection,
                                                const std::vector<int32_t>& ids) {
  const Params these = {ToArray(ids)};
  static const auto& select = *new std::string(absl::StrCat(
      "SELECT ", kTrialColumns, absl::StrReplaceAll(kMore, {{"$METRIC", kRankingMetric}})));
  DET_ASSIGN_OR_RETURN(const Result rows, connection.Exec(select, these));
  std::map<int32_t, RunRecord> by_id;
  for (int row = 0; row < rows.rows(); ++row) {
    DET_ASSIGN_OR_RETURN(RunRecord run, ToRun(rows, row));
    by_id.emplace(run.trial.id.value(), std::move(run));
  }
  DET_ASSIGN_OR_RETURN(const Result summary_rows, connection.Exec(kReadSummaries, these));
  DET_ASSIGN_OR_RETURN(auto summaries, ToSummaries(summary_rows));
  for (auto& [trial, summary] : summaries) {
    const auto run = by_id.find(trial.value());
    if (run != by_id.end()) run->second.metrics = std::move(summary.metrics);
  }
  std::vector<RunRecord> runs;
  for (const int32_t id : ids) {
    const auto run = by_id.find(id);
    // The run may have been deleted since it was found.
    if (run != by_id.end()) runs.push_back(std::move(run->second));
  }
  return runs;
}

absl::StatusOr<std::vector<MetricName>> ReadNames(Pool& pool, const char* sql,
                                                  const Params& params) {
  using Names = std::vector<MetricName>;
  return pool.Run([&](Connection& connection) -> absl::StatusOr<Names> {
    DET_ASSIGN_OR_RETURN(const Result rows, connection.Exec(sql, params));
    Names names;
    for (int row = 0; row < rows.rows(); ++row) {
      names.emplace_back(std::string(rows.Text(row, 0)), std::string(rows.Text(row, 1)));
    }
    return names;
  });
}

}  // namespace

absl::StatusOr<RunPage> SqlRuns::SearchRuns(const RunQuery& query) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<RunPage> {
    DET_ASSIGN_OR_RETURN(const FoundIds found, Find(connection, Table::kRuns, query));
    RunPage page;
    page.total = found.total;
    if (found.ids.empty()) return page;
    DET_ASSIGN_OR_RETURN(page.runs, ReadRuns(connection, found.ids));
    return page;
  });
}

absl::StatusOr<FoundExperiments> SqlRuns::SearchExperiments(const RunQuery& query) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<FoundExperiments> {
    DET_ASSIGN_OR_RETURN(const FoundIds found, Find(connection, Table::kExperiments, query));
    FoundExperiments page;
    page.total = found.total;
    for (const int32_t id : found.ids) page.ids.emplace_back(id);
    return page;
  });
}

absl::StatusOr<std::vector<ValueColumn>> SqlRuns::ListValueColumns(int32_t project) {
  using Columns = std::vector<ValueColumn>;
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<Columns> {
    DET_ASSIGN_OR_RETURN(const Result rows, connection.Exec(kValueColumns, MakeParams(project)));
    Columns columns;
    for (int row = 0; row < rows.rows(); ++row) {
      columns.push_back({std::string(rows.Text(row, 0)), rows.Bool(row, 1)});
    }
    return columns;
  });
}

absl::StatusOr<std::vector<MetricName>> SqlRuns::ListMetricNames(int32_t project) {
  return ReadNames(pool_, kNames, MakeParams(project));
}
absl::StatusOr<std::vector<MetricName>> SqlRuns::ListMetricNames(
    const std::vector<model::ExperimentId>& experiments) {
  return ReadNames(pool_, kNamesOfExperiments, {ToArray(experiments)});
}

absl::StatusOr<std::vector<MetricRange>> SqlRuns::ListMetricRanges(int32_t project) {
  using Ranges = std::vector<MetricRange>;
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<Ranges> {
    DET_ASSIGN_OR_RETURN(const Result rows, connection.Exec(kRanges, MakeParams(project)));
    Ranges ranges;
    for (int row = 0; row < rows.rows(); ++row) {
      ranges.push_back({{std::string(rows.Text(row, 0)), std::string(rows.Text(row, 1))},
                        rows.Double(row, 2),
                        rows.Double(row, 3)});
    }
    return ranges;
  });
}

absl::Status SqlRuns::PutMetadata(model::TrialId id, const model::Value& metadata) {
  const Params both = MakeParams(id, metadata);
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_RETURN_IF_ERROR(connection.Exec(kHoldProjects, {}).status());
    DET_ASSIGN_OR_RETURN(const Result put, connection.Exec(kPutMetadata, both));
    if (put.rows() == 0) return NoSuchRun(id);
    DET_RETURN_IF_ERROR(connection.Exec(kDropValues, MakeParams(id)).status());
    return connection.Exec(kPutValues, both).status();
  });
}

absl::StatusOr<model::Value> SqlRuns::GetMetadata(model::TrialId id) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<model::Value> {
    DET_ASSIGN_OR_RETURN(
        const Result row,
        connection.Exec("SELECT d.metadata FROM trials t LEFT JOIN run_metadata d ON "
                        "d.trial = t.id WHERE t.id = $1",
                        MakeParams(id)));
    if (row.rows() == 0) return NoSuchRun(id);
    return ToValue(row, 0, 0);
  });
}

absl::Status SqlRuns::PutCheckpointMetadata(const model::CheckpointId& id,
                                            const model::Value& metadata) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_ASSIGN_OR_RETURN(
        const Result put,
        connection.Exec("UPDATE checkpoints SET metadata = $2 WHERE id = $1 RETURNING id",
                        MakeParams(id, metadata)));
    return put.rows() > 0 ? absl::OkStatus() : NoSuchCheckpoint(id);
  });
}

absl::StatusOr<std::vector<std::string>> SqlRuns::ListMetadataValues(int32_t project,
                                                                     const std::string& key) {
  using Values = std::vector<std::string>;
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<Values> {
    DET_ASSIGN_OR_RETURN(
        const Result rows,
        connection.Exec(kMetadataValues, MakeParams(project, absl::StrCat("metadata.", key))));
    Values values;
    for (int row = 0; row < rows.rows(); ++row) values.emplace_back(rows.Text(row, 0));
    return values;
  });
}

}  // namespace det::store
