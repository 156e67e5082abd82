// Names of columns. Used by search.cc. Pure; any thread.
#ifndef MASTER_STORE_INTERFACES_SEARCH_COLUMNS_H_
#define MASTER_STORE_INTERFACES_SEARCH_COLUMNS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "master/store/interfaces/search.h"

namespace det::store {

// `location` and `type` as requests have them, or empty: they say what else could be meant by a
// name
// ("hp.lr" is a metric of a group "hp"), and what type a value has. INVALID_ARGUMENT for a name
// that the table has not.
absl::StatusOr<Column> ParseColumn(Table table, const std::string& name, std::string_view location,
                                   std::string_view type);

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_SEARCH_COLUMNS_H_
