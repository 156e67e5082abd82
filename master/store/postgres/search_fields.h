// SQL expressions for the fixed fields of runs and experiments in a search, and the joins that they
// need. Used by ToSql.
#ifndef MASTER_STORE_POSTGRES_SEARCH_FIELDS_H_
#define MASTER_STORE_POSTGRES_SEARCH_FIELDS_H_

#include <string>

#include "master/store/interfaces/search.h"

namespace det::store {

// Aliases in the SQL: t is the run, e the experiment, d the row of a value or metric.
class SearchFields {
 public:
  // `driven`: the query reads rows d of values or metrics instead of runs.
  SearchFields(Table table, bool driven)
      : table_(table), runs_(table == Table::kRuns), driven_(driven) {}

  // Also records which joins the expression needs.
  std::string GetExpression(Field field);
  // Expression for the run's ID; for experiments, that of the best run, or of the first if there is
  // no best.
  const char* GetRunId();
  // The joins needed so far, to follow the searched table.
  std::string BuildJoins() const;

 private:
  // In the order in which they must be joined.
  enum Join { kTrial, kExperiment, kUser, kProject, kRun, kTrials, kCheckpoints, kNumJoins };

  const char* GetJoinSql(Join join) const;
  void RequireJoin(Join join);
  const char* Qualify(Join join, const char* sql);
  std::string QualifyOwn(const char* column) const;
  const char* GetExperimentExpression(Field field);

  const Table table_;
  const bool runs_, driven_;
  bool needed_[kNumJoins] = {};
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SEARCH_FIELDS_H_
