// Evaluates a search in memory, like the statements of postgres/. Used by the fakes. Pure; any
// thread.
#ifndef MASTER_STORE_TESTING_SEARCH_MATCH_H_
#define MASTER_STORE_TESTING_SEARCH_MATCH_H_

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "master/store/interfaces/search.h"

namespace det::store {

// The value of a row in a column; monostate: it has none.
using Cell =
    std::variant<std::monostate, double, std::string, absl::Time, bool, std::vector<std::string>>;
using Cells = std::function<Cell(const Column&)>;

bool Matches(const Filter& filter, const Cells& row);

// Returns -1, 0 or 1; cells without a value come last in both directions.
int Compare(const Cell& a, const Cell& b, bool descending);

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_SEARCH_MATCH_H_
