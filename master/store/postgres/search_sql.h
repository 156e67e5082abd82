// A search as parts of a SELECT statement; what people gave is in its parameters alone. Used by
// SqlRuns. Pure; any thread.
#ifndef MASTER_STORE_POSTGRES_SEARCH_SQL_H_
#define MASTER_STORE_POSTGRES_SEARCH_SQL_H_

#include <string>

#include "master/store/postgres/params.h"
#include "master/store/search.h"

namespace det::store {

struct SearchSql {
  std::string id;             // the column of the answer
  std::string filter_from;    // the tables that the condition needs
  std::string where;          // with the word
  std::string order_from;     // those, and what the order needs
  std::string order;          // with the words
  Params params;              // $1: the projects, as an array
  int num_filter_params = 0;  // the first of them; the order has the others
};
// `having`: only runs that have a value in the first column of the order, which must be of values
// or metrics: then the index of that column is all that is read, where nothing else is asked.
SearchSql ToSql(Table table, const Search& search, Param projects, bool having = false);

// Whether it may be asked `having`.
bool CanHave(Table table, const Search& search);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SEARCH_SQL_H_
