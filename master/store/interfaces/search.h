// What people ask of runs and experiments: conditions over columns, nested, and orders by columns.
// docs/api.md has the language. A checked question says nothing that a store could not answer.
//
// Any thread. Pure.
#ifndef MASTER_STORE_INTERFACES_SEARCH_H_
#define MASTER_STORE_INTERFACES_SEARCH_H_

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace det::store {

enum class Table { kExperiments, kRuns };
enum class ColumnType { kText, kNumber, kDate, kArray, kFlag };

// Of every row.
enum class Field {
  kRunId,
  kLocalId,
  kExperimentId,
  kName,
  kDescription,
  kTags,
  kForkedFrom,
  kExternalId,
  kStartTime,
  kEndTime,
  kDuration,  // seconds, until the end
  kState,
  kShownState,  // of experiments: of an active one, whether a trial runs or all wait
  kNumTrials,
  kSearcherType,
  kSearcherMetric,
  kSearcherMetricValue,
  kResourcePool,
  kProgress,
  kCheckpointSize,
  kCheckpointCount,
  kUser,
  kProjectId,
  kArchived,
  kParentArchived,
  kIsMultitrial,
};
// Of the numbers that a metric's reports had.
enum class Statistic { kLast, kMin, kMax, kMean };

struct Column {
  // kValue: a hyperparameter or metadata, which some runs have.
  enum class Kind { kField, kValue, kMetric };
  Kind kind = Kind::kField;
  ColumnType type = ColumnType::kText;
  Field field = Field::kRunId;
  std::string key;  // of a value: "hp.optimizer.lr", "metadata.a.b"
  std::string group, metric;
  Statistic statistic = Statistic::kLast;
  friend bool operator==(const Column&, const Column&) = default;
};

enum class Operator {
  kEqual,
  kNotEqual,  // true also where there is no value
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kContains,     // a text, in any case; of an array, one element whole
  kNotContains,  // true also where there is no value
  kIsEmpty,      // no value, an empty text, an empty array
  kNotEmpty,
};
using Operand = std::variant<std::monostate, double, std::string, absl::Time, bool>;

struct Condition {
  Column column;
  Operator op = Operator::kEqual;
  Operand operand;
};
// All, or any, of its parts hold. Without parts it holds.
struct Filter {
  bool any = false;
  std::vector<Filter> parts;
  std::optional<Condition> condition;  // instead of parts
};
struct SortKey {
  Column column;
  bool descending = false;
};
struct Search {
  Filter filter;
  std::vector<SortKey> order;  // then by number, as the last of them; without: newest first
};

// The texts of a request; either may be empty. INVALID_ARGUMENT names what does not fit.
absl::StatusOr<Search> ParseSearch(Table table, std::string_view filter, std::string_view sort);

// A column that is in every table of its kind.
struct FixedColumn {
  const char* name;
  Field field;
  ColumnType type;
  const char* shown;
  bool of_experiment;  // else of the run
};
const std::vector<FixedColumn>& FixedColumns(Table table);

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_SEARCH_H_
