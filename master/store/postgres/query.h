// Helpers for SELECT statements of lists. Called by SqlStore on its callers' threads.
#ifndef MASTER_STORE_POSTGRES_QUERY_H_
#define MASTER_STORE_POSTGRES_QUERY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "master/core/model/states.h"
#include "master/store/interfaces/records.h"
#include "master/store/postgres/connection.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/pool.h"

namespace det::store {

template <class Id>
absl::Status NoSuch(const char* what, const Id& id) {
  return absl::NotFoundError(absl::StrCat(what, " ", ToString(id), " not found"));
}

// An array, or NULL if the list is empty, which means no filter.
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
std::string OrderBy(const char* key, const char* id, bool descending);

// A window of a list, and the total length of the list.
struct WindowRows {
  Result rows;
  int total = 0;
};
// Reads with `sql` + OFFSET and LIMIT, and counts with `count_sql` if the total is not known from
// the rows; both take `params`.
absl::StatusOr<WindowRows> ReadWindow(Connection& connection, const std::string& count_sql,
                                      const std::string& sql, const Params& params,
                                      const Window& window);

// The first column of the rows of a query without parameters.
absl::StatusOr<std::vector<int32_t>> SelectInts(Pool& pool, const char* sql);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_QUERY_H_
