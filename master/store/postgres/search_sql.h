// A search as parts of a SELECT statement; user input is only in its parameters. Used by SqlRuns.
// Pure; any thread.
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
    const char* direction;  // " DESC NULLS LAST"
  };
  // Statements. Count() returns the total and takes the first `num_filter_params` parameters.
  // Page() returns the ids in a window; `offset + limit` must fit an int if `by_project`.
  // CountedPage() also returns the total in a second column.
  std::string Count() const;
  std::string Page(int offset, int limit) const;
  std::string CountedPage(int offset, int limit) const;

  std::string id;               // the selected column
  std::string filter_from;      // tables that the condition needs
  std::string where;            // including the word WHERE
  std::string order_from;       // tables that the condition and the order need
  std::vector<OrderKey> order;  // the last one is the id
  bool by_project = false;
  Params params;              // $1: the projects, as an array
  int num_filter_params = 0;  // number of parameters of the filter; the others are for the order
};

enum class SearchedRows {
  kAll,
  // Only runs that have a value in the first sort column, which must be a value or a metric.
  // Without a filter, only the rows of that column are read.
  kHavingKey,
  // Only runs that have a number in that column: the index returns the first ones of each project
  // in order, and they are merged across projects.
  kNumbersByProject,
};
SearchSql ToSql(Table table, const Search& search, Param projects,
                SearchedRows rows = SearchedRows::kAll);

// Whether the search can be answered with `rows`.
bool CanSearch(Table table, const Search& search, SearchedRows rows);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SEARCH_SQL_H_
