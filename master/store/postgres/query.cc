#include "master/store/postgres/query.h"

#include <string_view>

#include "base/status_macros.h"
#include "master/store/canonical.h"

namespace det::store {

std::string OrderBy(const char* key, const char* id, bool descending) {
  const char* direction = descending ? " DESC" : " ASC";
  // Never without one; so the index can be read from its end, up to the limit.
  if (std::string_view(key) == id) return absl::StrCat(" ORDER BY ", id, direction);
  return absl::StrCat(" ORDER BY ", key, direction, " NULLS LAST, ", id, direction);
}

absl::StatusOr<WindowRows> ReadWindow(Connection& connection, const std::string& count_sql,
                                      const std::string& sql, Params params, const Window& window) {
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
  return WindowRows{std::move(rows), total};
}

}  // namespace det::store
