// Names of columns. Used by search.cc. Pure; any thread.
#ifndef MASTER_STORE_INTERFACES_SEARCH_COLUMNS_H_
#define MASTER_STORE_INTERFACES_SEARCH_COLUMNS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "master/store/interfaces/search.h"

namespace det::store {

// `location` and `type` are those of the request, or empty. They resolve ambiguous names ("hp.lr"
// may be a metric of group "hp") and give the type of a value. INVALID_ARGUMENT if the table has no
// such column.
absl::StatusOr<Column> ParseColumn(Table table, const std::string& name, std::string_view location,
                                   std::string_view type);

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_SEARCH_COLUMNS_H_
