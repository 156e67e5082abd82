// A search as parts of a SELECT statement; what people gave is in its parameters alone. Used by
// SqlRuns. Pure; any thread.
#ifndef MASTER_STORE_POSTGRES_SEARCH_SQL_H_
#define MASTER_STORE_POSTGRES_SEARCH_SQL_H_

#include <string>
#include <vector>

#include "master/store/interfaces/search.h"
#include "master/store/postgres/params.h"

namespace det::store {

struct SearchSql {
  struct OrderKey {
    std::string expression;
    const char* way;  // " DESC NULLS LAST"
  };
  // Statements: how many there are, by the first of the parameters alone; the numbers of those in a
  // window, of which `offset + limit` is an int if the search is by project; and the same with how
  // many there are in a second column.
  std::string Count() const;
  std::string Page(int offset, int limit) const;
  std::string CountedPage(int offset, int limit) const;

  std::string id;               // the column of the answer
  std::string filter_from;      // the tables that the condition needs
  std::string where;            // with the word
  std::string order_from;       // those, and what the order needs
  std::vector<OrderKey> order;  // the last is of the numbers
  bool by_project = false;
  Params params;              // $1: the projects, as an array
  int num_filter_params = 0;  // the first of them; the order has the others
};

enum class SearchedRows {
  kAll,
  // Only runs that have a value in the first column of the order, which must be of values or
  // metrics: where nothing else is asked, the rows of that column are all that is read.
  kHavingKey,
  // Only those that have a number there, of values: the first of each project are found in order by
  // the index, and are then put in order with those of other projects.
  kNumbersByProject,
};
SearchSql ToSql(Table table, const Search& search, Param projects,
                SearchedRows rows = SearchedRows::kAll);

// Whether a search may be asked so.
bool CanSearch(Table table, const Search& search, SearchedRows rows);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SEARCH_SQL_H_
