// Answers a search in memory, as the statements of postgres/ do. Used by the fakes.
// Pure; any thread.
#ifndef MASTER_STORE_TESTING_SEARCH_MATCH_H_
#define MASTER_STORE_TESTING_SEARCH_MATCH_H_

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "master/store/interfaces/search.h"

namespace det::store {

// What a row has in a column; nothing: it has none.
using Cell =
    std::variant<std::monostate, double, std::string, absl::Time, bool, std::vector<std::string>>;
using Cells = std::function<Cell(const Column&)>;

bool Matches(const Filter& filter, const Cells& row);

// -1, 0 or 1; cells without a value after all others, whatever the direction.
int Compare(const Cell& a, const Cell& b, bool descending);

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_SEARCH_MATCH_H_
