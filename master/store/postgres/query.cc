#include "master/store/postgres/query.h"

#include <optional>
#include <string_view>

#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"

namespace det::store {

std::string OrderBy(const char* key, const char* id, bool descending) {
  const char* direction = descending ? " DESC" : " ASC";
  // The key is never NULL, so that the index can be read backwards up to the limit.
  if (std::string_view(key) == id) return absl::StrCat(" ORDER BY ", id, direction);
  return absl::StrCat(" ORDER BY ", key, direction, " NULLS LAST, ", id, direction);
}

absl::StatusOr<WindowRows> ReadWindow(Connection& connection, const std::string& count_sql,
                                      const std::string& sql, const Params& params,
                                      const Window& window) {
  const auto count = [&]() -> absl::StatusOr<int> {
    DET_ASSIGN_OR_RETURN(const Result counted, connection.Exec(count_sql, params));
    return static_cast<int>(counted.Int(0, 0));
  };
  const auto read = [&](int first, std::optional<int> most) {
    Params all = params;
    all.push_back(ToParam(first));
    all.push_back(most ? ToParam(*most) : Param{});
    return connection.Exec(absl::StrCat(sql, " OFFSET $", params.size() + 1, "::bigint LIMIT $",
                                        params.size() + 2, "::bigint"),
                           all);
  };
  if (window.offset < 0 || window.limit < 0) {
    DET_ASSIGN_OR_RETURN(const int total, count());
    const Range range = Resolve(window, total);
    DET_ASSIGN_OR_RETURN(Result rows, read(range.begin, range.end - range.begin));
    return WindowRows{std::move(rows), total};
  }
  const bool bounded = window.limit > 0;
  DET_ASSIGN_OR_RETURN(
      Result rows, read(window.offset, bounded ? std::optional<int>(window.limit) : std::nullopt));
  // If the end was reached, the total is known without counting.
  const int seen = window.offset + rows.rows();
  const bool whole =
      (!bounded || rows.rows() < window.limit) && (rows.rows() > 0 || window.offset == 0);
  if (whole) return WindowRows{std::move(rows), seen};
  DET_ASSIGN_OR_RETURN(const int total, count());
  return WindowRows{std::move(rows), total};
}

absl::StatusOr<std::vector<int32_t>> SelectInts(Pool& pool, const char* sql) {
  using Ints = std::vector<int32_t>;
  return pool.Run([&](Connection& connection) -> absl::StatusOr<Ints> {
    DET_ASSIGN_OR_RETURN(const Result rows, connection.Exec(sql));
    Ints ints;
    for (int row = 0; row < rows.rows(); ++row) {
      ints.push_back(static_cast<int32_t>(rows.Int(row, 0)));
    }
    return ints;
  });
}

}  // namespace det::store
