// SqlStore: reads of experiments, allocations, metrics and logs.
#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/query.h"
#include "master/store/postgres/rows.h"
#include "master/store/postgres/sql_store.h"

namespace det::store {
namespace {

constexpr char kExperimentMore[] = R"sql(

LEFT JOIN users u ON u.id = e.owner
LEFT JOIN contexts x ON x.hash = e.context_hash)sql";

constexpr char kTrialTotals[] = R"sql(
CROSS JOIN LATERAL (SELECT count(*) AS trials FROM trials t WHERE t.experiment = e.id) n)sql";
constexpr char kCheckpointTotals[] = R"sql(
CROSS JOIN LATERAL (SELECT count(*) AS checkpoints,
    least(coalesce(sum(c.size), 0), 9223372036854775807) AS size
  FROM checkpoints c JOIN trials t ON t.id = c.trial
  WHERE t.experiment = e.id AND c.state <> 'DELETED') s)sql";

// The same for all experiments $1 in one pass over their trials.
constexpr char kTotalsOfPage[] = R"sql(
LEFT JOIN (SELECT t.experiment, count(*) AS trials
  FROM trials t WHERE t.experiment = ANY($1::int[]) GROUP BY t.experiment) n ON n.experiment = e.id
LEFT JOIN (SELECT t.experiment, count(*) AS checkpoints,
    least(sum(c.size), 9223372036854775807) AS size
  FROM trials t JOIN checkpoints c ON c.trial = t.id
  WHERE t.experiment = ANY($1::int[]) AND c.state <> 'DELETED'
  GROUP BY t.experiment) s ON s.experiment = e.id)sql";

std::string SelectExperiments(std::string_view totals) {
  return absl::StrCat("SELECT ", kExperimentColumns,
                      ", coalesce(u.username, ''), coalesce(n.trials, 0), "
                      "coalesce(s.checkpoints, 0), coalesce(s.size, 0), "
                      "coalesce(octet_length(x.tgz), 0), e.archived, "
                      "coalesce(p.archived OR w.archived, false), e.notes, coalesce(p.owner, 0), "
                      "e.log_days",
                      " FROM ", kExperimentTables, kExperimentMore,
                      absl::string_view(totals.data(), totals.size()));
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
  record.archived = result.Bool(row, column++);
  record.parent_archived = result.Bool(row, column++);
  record.notes = std::string(result.Text(row, column++));
  record.project_owner = model::UserId(static_cast<int32_t>(result.Int(row, column++)));
  if (!result.IsNull(row, column)) record.log_days = static_cast<int>(result.Int(row, column));
  return record;
}

// Returns the experiments in the order of `ids`, without those that were deleted meanwhile.
absl::StatusOr<std::vector<ExperimentRecord>> ReadExperiments(Connection& connection,
                                                              const std::vector<int64_t>& ids) {
  std::vector<ExperimentRecord> records;
  if (ids.empty()) return records;
  static const auto& kSelect = *new std::string(
      absl::StrCat(SelectExperiments(kTotalsOfPage), " WHERE e.id = ANY($1::int[])"));
  DET_ASSIGN_OR_RETURN(const Result rows, connection.Exec(kSelect, {ToArray(ids)}));
  std::map<int64_t, int> row_of;
  for (int row = 0; row < rows.rows(); ++row) row_of[rows.Int(row, 0)] = row;
  for (const int64_t id : ids) {
    const auto row = row_of.find(id);
    if (row == row_of.end()) continue;
    DET_ASSIGN_OR_RETURN(records.emplace_back(), ToExperimentRecord(rows, row->second));
  }
  return records;
}

const char* GetSortKey(ExperimentQuery::Sort sort) {
  using Sort = ExperimentQuery::Sort;
  switch (sort) {
    case Sort::kId:
      return "e.id";
    case Sort::kName:
      return "e.name";
    case Sort::kDescription:
      return "e.description";
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
    case Sort::kForkedFrom:
      return "e.forked_from";
    case Sort::kResourcePool:
      return "e.resource_pool";
    case Sort::kProject:
      return "e.project";
    case Sort::kCheckpointSize:
      return "s.size";
    case Sort::kCheckpointCount:
      return "s.checkpoints";
    case Sort::kBestMetric:
      return "e.best_metric";
  }
  return "e.id";
}

// The aggregates that the sort key refers to.
const char* GetSortTotals(ExperimentQuery::Sort sort) {
  using Sort = ExperimentQuery::Sort;
  if (sort == Sort::kNumTrials) return kTrialTotals;
  const bool checkpoints = sort == Sort::kCheckpointSize || sort == Sort::kCheckpointCount;
  return checkpoints ? kCheckpointTotals : "";
}

// A query of experiments with only the requested conditions, so that counting all of a project uses
// an index.
struct ExperimentSelection {
  std::string tables = "experiments e";
  std::string where;
  Params params;

  // `clause` has "$?" for the parameter.
  void Add(const char* clause, Param param) {
    params.push_back(std::move(param));
    absl::StrAppend(&where, where.empty() ? " WHERE " : " AND ",
                    absl::StrReplaceAll(clause, {{"$?", absl::StrCat("$", params.size())}}));
  }
};

ExperimentSelection ToSelection(const ExperimentQuery& query) {
  ExperimentSelection selection;
  const bool archived_parents = query.archived && query.project == 0;
  if (query.visible || archived_parents) {
    absl::StrAppend(&selection.tables, " LEFT JOIN projects p ON p.id = e.project");
  }
  if (archived_parents) {
    absl::StrAppend(&selection.tables, " LEFT JOIN workspaces w ON w.id = p.workspace");
  }
  if (!query.usernames.empty() || query.sort == ExperimentQuery::Sort::kUser) {
    absl::StrAppend(&selection.tables, " LEFT JOIN users u ON u.id = e.owner");
  }
  selection.where = query.states.empty() ? " WHERE e.state <> 'DELETED'" : "";
  if (!query.states.empty())
    selection.Add("e.state = ANY($?::text[])", ToStateFilter(query.states));
  if (!query.ids.empty()) selection.Add("e.id = ANY($?::int[])", ToArray(query.ids));
  if (!query.not_ids.empty()) selection.Add("e.id <> ALL($?::int[])", ToArray(query.not_ids));
  if (query.min_id) selection.Add("e.id >= $?::bigint", ToParam(*query.min_id));
  if (query.max_id) selection.Add("e.id <= $?::bigint", ToParam(*query.max_id));
  if (query.project != 0) selection.Add("e.project = $?::int", ToParam(query.project));
  if (query.visible) {
    selection.Add("coalesce(p.workspace, 1) = ANY($?::int[])", ToArray(*query.visible));
  }
  if (query.archived) {
    selection.Add(archived_parents
                      ? "(e.archived OR coalesce(p.archived OR w.archived, false)) = $?::boolean"
                      : "e.archived = $?::boolean",
                  ToParam(query.archived));
  }
  if (!query.name.empty()) {
    selection.Add("strpos(lower(e.name), lower($?::text)) > 0", ToParam(query.name));
  }
  if (!query.description.empty()) {
    selection.Add("strpos(lower(e.description), lower($?::text)) > 0", ToParam(query.description));
  }
  if (!query.request_id.empty())
    selection.Add("e.request_id = $?::text", ToParam(query.request_id));
  if (!query.labels.empty()) {
    model::Value::List labels;
    for (const std::string& label : query.labels) labels.emplace_back(label);
    selection.Add("e.labels @> $?::jsonb", ToParam(model::Value(labels)));
  }
  if (!query.usernames.empty()) {
    selection.Add("coalesce(u.username, '') = ANY($?::text[])", ToFilter(query.usernames));
  }
  if (!query.owner_ids.empty())
    selection.Add("e.owner = ANY($?::int[])", ToFilter(query.owner_ids));
  return selection;
}

// LIKE patterns for texts that contain the parts.
std::vector<std::string> MakeLikePatterns(const std::vector<std::string>& parts) {
  std::vector<std::string> patterns;
  for (const std::string& part : parts) {
    patterns.push_back(absl::StrCat(
        "%", absl::StrReplaceAll(part, {{"\\", "\\\\"}, {"%", "\\%"}, {"_", "\\_"}}), "%"));
  }
  return patterns;
}

}  // namespace

absl::StatusOr<ExperimentRecord> SqlStore::GetExperiment(model::ExperimentId id) {
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<ExperimentRecord> {
    static const auto& kSelect = *new std::string(absl::StrCat(
        SelectExperiments(absl::StrCat(kTrialTotals, kCheckpointTotals)), " WHERE e.id = $1::int"));
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kSelect, MakeParams(id)));
    if (result.rows() == 0) return NoSuch("experiment", id);
    return ToExperimentRecord(result, 0);
  });
}

absl::StatusOr<ExperimentPage> SqlStore::ListExperiments(const ExperimentQuery& query) {
  const ExperimentSelection selection = ToSelection(query);
  // Selects ids first, so that aggregates are computed only for the page.
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<ExperimentPage> {
    DET_ASSIGN_OR_RETURN(
        const WindowRows window,
        ReadWindow(connection,
                   absl::StrCat("SELECT count(*) FROM ", selection.tables, selection.where),
                   absl::StrCat("SELECT e.id FROM ", selection.tables, GetSortTotals(query.sort),
                                selection.where,
                                OrderBy(GetSortKey(query.sort), "e.id", query.descending)),
                   selection.params, query.window));
    std::vector<int64_t> ids;
    for (int row = 0; row < window.rows.rows(); ++row) ids.push_back(window.rows.Int(row, 0));
    ExperimentPage page;
    page.total = window.total;
    DET_ASSIGN_OR_RETURN(page.experiments, ReadExperiments(connection, ids));
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

absl::StatusOr<std::vector<model::MetricReport>> SqlStore::ReadMetrics(const MetricQuery& query) {
  using Reports = std::vector<model::MetricReport>;
  // With a single trial id the rows come from the index in this order, and a portion reads no more
  // rows than it returns.
  const bool one = query.trials.size() == 1;
  Params params = {one ? ToParam(query.trials[0]) : ToArray(query.trials), ToParam(query.group)};
  std::string where =
      absl::StrCat(one ? "m.trial = $1::int" : "m.trial = ANY($1::int[])",
                   query.group.empty() ? " AND $2::text = ''" : " AND m.group_name = $2");
  if (const auto& after = query.after) {
    absl::StrAppend(&where, " AND (m.trial, m.group_name, m.steps) ", query.descending ? "<" : ">",
                    " ($3::int, $4, $5::bigint)");
    params.push_back(ToParam(after->trial));
    params.push_back(ToParam(after->group));
    params.push_back(ToParam(after->steps));
  }
  const char* order = query.descending
                          ? " ORDER BY m.trial DESC, m.group_name DESC, m.steps DESC, m.run_id DESC"
                          : " ORDER BY m.trial, m.group_name, m.steps, m.run_id DESC";
  const std::string limit = query.limit > 0 ? absl::StrCat(" LIMIT ", query.limit) : "";
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<Reports> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(absl::StrCat("SELECT DISTINCT ON (m.trial, m.group_name, m.steps) ",
                                     kMetricColumns, " FROM metrics m WHERE ", where, order, limit),
                        params));
    Reports reports;
    reports.reserve(result.rows());
    for (int row = 0; row < result.rows(); ++row) {
      DET_ASSIGN_OR_RETURN(reports.emplace_back(), ToMetricReport(result, row));
    }
    return reports;
  });
}

absl::StatusOr<int64_t> SqlStore::CountMetrics(model::TrialId trial, const std::string& group) {
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<int64_t> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(
            "SELECT count(*) FROM (SELECT DISTINCT m.group_name, m.steps FROM metrics m "
            "WHERE m.trial = $1 AND ($2 = '' OR m.group_name = $2)) d",
            MakeParams(trial, group)));
    return result.Int(0, 0);
  });
}

absl::StatusOr<std::vector<LogRecord>> SqlStore::ListLogs(const LogQuery& query) {
  constexpr char kWhere[] =
      " FROM task_logs l WHERE l.task = $1 AND l.id > $2 "
      "AND ($3::text[] IS NULL OR l.allocation = ANY($3)) "
      "AND ($4::text[] IS NULL OR l.agent = ANY($4)) "
      "AND ($5::int[] IS NULL OR coalesce(l.rank, -1) = ANY($5)) "
      "AND ($6::int[] IS NULL OR l.level = ANY($6)) "
      "AND ($7::text[] IS NULL OR l.stdtype = ANY($7)) "
      "AND ($8::text[] IS NULL OR l.source = ANY($8)) "
      "AND ($9::timestamptz IS NULL OR l.time < $9) "
      "AND ($10::timestamptz IS NULL OR l.time > $10) "
      "AND ($11 = '' OR strpos(lower(l.text COLLATE \"C\"), lower($11 COLLATE \"C\")) > 0) "
      "AND l.id < $13 AND ($14::text[] IS NULL OR lower(l.text COLLATE \"C\") LIKE ALL($14)) "
      "AND ($15::text[] IS NULL OR coalesce(nullif(l.container, ''), l.allocation) = ANY($15))";
  // Matches the index of errors (025_log_errors.sql): the next error may be a million lines away.
  constexpr char kErrors[] = " AND l.level >= 5";
  static_assert(static_cast<int>(model::LogLevel::kError) == 5);
  const bool errors_alone =
      !query.levels.empty() &&
      *std::min_element(query.levels.begin(), query.levels.end()) >= model::LogLevel::kError;
  std::vector<int> levels;
  for (const model::LogLevel level : query.levels) levels.push_back(static_cast<int>(level));
  const Params params = {
      ToParam(query.task),
      ToParam(query.after_id),
      ToFilter(query.allocations),
      ToFilter(query.agents),
      ToFilter(query.ranks),
      ToFilter(levels),
      ToFilter(query.stdtypes),
      ToFilter(query.sources),
      ToParam(query.before),
      ToParam(query.after),
      ToParam(query.contains),
      ToParam(std::max(query.limit, 0)),
      ToParam(query.before_id > 0 ? query.before_id : std::numeric_limits<int64_t>::max()),
      ToFilter(MakeLikePatterns(query.parts)),
      ToFilter(query.containers)};
  const std::string sql =
      absl::StrCat("SELECT ", kLogColumns, kWhere, errors_alone ? kErrors : "", " ORDER BY l.id ",
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
