#include "master/store/postgres/sql_tasks.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/query.h"
#include "master/store/postgres/rows.h"

namespace det::store {
namespace {

using Records = std::vector<TaskRecord>;

constexpr char kOwners[] = " LEFT JOIN users u ON u.id = k.owner";

// In the order of the ids $1.
constexpr char kMore[] = R"sql(
JOIN unnest($1::text[]) WITH ORDINALITY o (id, place) ON o.id = k.id
LEFT JOIN LATERAL (SELECT a.started_at, a.exit_code FROM allocations a
  WHERE a.task = k.id ORDER BY a.run_id DESC LIMIT 1) n ON true
ORDER BY o.place)sql";

constexpr char kWhere[] = R"sql(
WHERE ($1::text[] IS NULL OR k.kind = ANY($1))
  AND ($2::text[] IS NULL AND $3::int[] IS NULL
       OR coalesce(u.username, '') = ANY($2) OR k.owner = ANY($3))
  AND ($4::int IS NULL OR k.workspace = $4) AND ($5::int[] IS NULL OR k.workspace = ANY($5))
  AND ($6::timestamptz IS NULL OR k.ended_at IS NULL OR k.ended_at > $6))sql";

constexpr char kFamily[] = R"sql(
WITH RECURSIVE family AS (
  SELECT k.id, k.created_at, 0 AS depth FROM tasks k WHERE k.id = $1
  UNION ALL
  SELECT k.id, k.created_at, f.depth + 1 FROM family f JOIN tasks k ON k.parent = f.id)
SELECT id FROM family ORDER BY depth, created_at, id)sql";

const char* GetSortKey(TaskQuery::Sort sort) {
  using Sort = TaskQuery::Sort;
  switch (sort) {
    case Sort::kId:
      return "k.id";
    case Sort::kDescription:
      return "k.description";
    case Sort::kStartTime:
      return "k.created_at";
    case Sort::kWorkspace:
      return "k.workspace";
  }
  return "k.id";
}

std::vector<std::string> ToIds(const Result& rows) {
  std::vector<std::string> ids;
  for (int row = 0; row < rows.rows(); ++row) ids.emplace_back(rows.Text(row, 0));
  return ids;
}

// Returns the tasks in the order of `ids`.
absl::StatusOr<Records> ReadTasks(Connection& connection, const std::vector<std::string>& ids) {
  Records records;
  if (ids.empty()) return records;
  DET_ASSIGN_OR_RETURN(
      const Result result,
      connection.Exec(absl::StrCat("SELECT ", kTaskColumns,
                                   ", coalesce(u.username, ''), coalesce(u.display_name, ''), "
                                   "micros(n.started_at), n.exit_code FROM ",
                                   kTaskTables, kOwners, kMore),
                      {ToArray(ids)}));
  for (int row = 0; row < result.rows(); ++row) {
    TaskRecord& record = records.emplace_back();
    DET_ASSIGN_OR_RETURN(record.task, ToTask(result, row));
    int column = kNumTaskColumns;
    record.username = std::string(result.Text(row, column++));
    record.display_name = std::string(result.Text(row, column++));
    record.started_at = result.Maybe(&Result::Time, row, column++);
    if (!result.IsNull(row, column)) record.exit_code = static_cast<int>(result.Int(row, column));
  }
  return records;
}

}  // namespace

absl::StatusOr<TaskRecord> SqlTasks::Get(const model::TaskId& id) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<TaskRecord> {
    DET_ASSIGN_OR_RETURN(Records records, ReadTasks(connection, {id.value()}));
    if (records.empty()) return NoSuch("task", id);
    return std::move(records.front());
  });
}

absl::StatusOr<TaskPage> SqlTasks::List(const TaskQuery& query) {
  const Params params = {ToStateFilter(query.kinds),
                         ToFilter(query.usernames),
                         ToFilter(query.owner_ids),
                         ToParam(query.workspace),
                         query.visible ? ToArray(*query.visible) : Param{},
                         ToParam(query.alive_after)};
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<TaskPage> {
    DET_ASSIGN_OR_RETURN(
        const WindowRows window,
        ReadWindow(connection, absl::StrCat("SELECT count(*) FROM tasks k", kOwners, kWhere),
                   absl::StrCat("SELECT k.id FROM tasks k", kOwners, kWhere,
                                OrderBy(GetSortKey(query.sort), "k.id", query.descending)),
                   params, query.window));
    TaskPage page;
    page.total = window.total;
    DET_ASSIGN_OR_RETURN(page.tasks, ReadTasks(connection, ToIds(window.rows)));
    return page;
  });
}

absl::StatusOr<Records> SqlTasks::ListFamily(const model::TaskId& root) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<Records> {
    DET_ASSIGN_OR_RETURN(const Result family, connection.Exec(kFamily, MakeParams(root)));
    if (family.rows() == 0) return NoSuch("task", root);
    return ReadTasks(connection, ToIds(family));
  });
}

}  // namespace det::store
