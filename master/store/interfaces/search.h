// Searches over runs and experiments: nested conditions on columns, and sort orders. docs/api.md
// describes the language. Every search that ParseSearch accepts can be answered by the stores.
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

// Fields that every row has.
enum class Field {
  kRunId,
  kLocalId,
  kExperimentId,
  kName,
  kDescription,
  kTags,
  kForkedFrom,
  kExternalId,  // of a run
  kLogPolicy,   // the name of the log policy that matched in the log of a run
  kExternalExperimentId,
  kStartTime,
  kEndTime,
  kDuration,  // in seconds, up to the end or now
  kState,
  kShownState,  // for experiments: also tells RUNNING from QUEUED if active
  kNumTrials,
  kSearcherType,
  kSearcherMetric,
  kSearcherMetricValue,
  kResourcePool,
  kProgress,
  kCheckpointSize,
  kCheckpointCount,
  kUser,
  kUserId,  // of filters that compare `user` with a number
  kProjectId,
  kArchived,
  kParentArchived,
  kIsMultitrial,
};
// Which statistic of a metric's values.
enum class Statistic { kLast, kMin, kMax, kMean };

struct Column {
  // kValue: a hyperparameter or metadata key, which only some runs have.
  enum class Kind { kField, kValue, kMetric };
  Kind kind = Kind::kField;
  ColumnType type = ColumnType::kText;
  Field field = Field::kRunId;
  std::string key;  // for kValue: "hp.optimizer.lr", "metadata.a.b"
  std::string group, metric;
  Statistic statistic = Statistic::kLast;
  friend bool operator==(const Column&, const Column&) = default;
};

enum class Operator {
  kEqual,
  kNotEqual,  // also true without a value
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kContains,     // case-insensitive substring; for arrays, an equal element
  kNotContains,  // also true without a value
  kIsEmpty,      // no value, an empty string or an empty array
  kNotEmpty,
};
using Operand = std::variant<std::monostate, double, std::string, absl::Time, bool>;

struct Condition {
  Column column;
  Operator op = Operator::kEqual;
  Operand operand;
};
// Holds if all (or any) of its parts hold; true without parts.
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
  std::vector<SortKey>
      order;  // ties are sorted by id in the last key's direction; empty: newest first
};

// Parses the parameters of a request; either may be empty. INVALID_ARGUMENT names the invalid part.
absl::StatusOr<Search> ParseSearch(Table table, std::string_view filter, std::string_view sort);

// A column that every row of a table has.
struct FixedColumn {
  const char* name;
  Field field;
  ColumnType type;
  const char* shown;
};
const std::vector<FixedColumn>& FixedColumns(Table table);

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_SEARCH_H_
