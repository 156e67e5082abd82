// What a search says of a run or an experiment itself, as SQL: the expression of each field, and
// the tables beside the searched one that it takes. Used by ToSql.
#ifndef MASTER_STORE_POSTGRES_SEARCH_FIELDS_H_
#define MASTER_STORE_POSTGRES_SEARCH_FIELDS_H_

#include <string>

#include "master/store/interfaces/search.h"

namespace det::store {

// Names in the SQL: t the run, e the experiment, d the row of a value or a metric.
class SearchFields {
 public:
  // `driven`: rows d of values or metrics are searched, each in place of its run.
  SearchFields(Table table, bool driven)
      : table_(table), runs_(table == Table::kRuns), driven_(driven) {}

  // Also notes which tables it takes.
  std::string Expression(Field field);
  // The run's number: of an experiment, of its best or else its first one.
  const char* Run();
  // The tables that were needed so far, to be put behind the searched one.
  std::string Joins() const;

 private:
  // In the order in which they can be joined.
  enum Join { kTrial, kExperiment, kUser, kProject, kRun, kTrials, kCheckpoints, kNumJoins };

  const char* SqlOf(Join join) const;
  void Need(Join join);
  const char* Of(Join join, const char* sql);
  std::string Own(const char* column) const;
  const char* OfExperiment(Field field);

  const Table table_;
  const bool runs_, driven_;
  bool needed_[kNumJoins] = {};
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SEARCH_FIELDS_H_
