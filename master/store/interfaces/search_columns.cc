#include "master/store/interfaces/search_columns.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace det::store {
namespace {

using Type = ColumnType;

constexpr std::array<std::pair<std::string_view, Statistic>, 4> kStatistics = {{
    {"last", Statistic::kLast},
    {"min", Statistic::kMin},
    {"max", Statistic::kMax},
    {"mean", Statistic::kMean},
}};

absl::Status NoSuchColumn(Table table, const std::string& name) {
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no column \"", name, "\" of ", table == Table::kRuns ? "runs" : "experiments",
      "; use a fixed column (see GET /api/v1/projects/{id}/columns), hp.<path>, metadata.<path> "
      "and <group>.<metric>.{last,min,max,mean}"));
}

// "validation.loss.min": a group has no dots, a metric may have.
bool ReadMetric(const std::string& name, Column& column) {
  const size_t first = name.find('.');
  const size_t last = name.rfind('.');
  if (first == std::string::npos || first == 0 || last <= first + 1) return false;
  for (const auto& [word, statistic] : kStatistics) {
    if (std::string_view(name).substr(last + 1) != word) continue;
    column.kind = Column::Kind::kMetric;
    column.type = Type::kNumber;
    column.group = name.substr(0, first);
    column.metric = name.substr(first + 1, last - first - 1);
    column.statistic = statistic;
    return true;
  }
  return false;
}

absl::StatusOr<Type> ReadType(std::string_view type) {
  if (type.empty() || type == "COLUMN_TYPE_UNSPECIFIED" || type == "COLUMN_TYPE_TEXT" ||
      type == "COLUMN_TYPE_ARRAY") {
    return Type::kText;
  }
  if (type == "COLUMN_TYPE_NUMBER") return Type::kNumber;
  if (type == "COLUMN_TYPE_DATE") return Type::kDate;
  return absl::InvalidArgumentError(
      absl::StrCat("there is no column type \"", std::string(type),
                   "\"; expected COLUMN_TYPE_TEXT, _NUMBER, _DATE or _ARRAY"));
}

std::vector<FixedColumn> Shared() {
  return {
      {"description", Field::kDescription, Type::kText, "Description"},
      {"tags", Field::kTags, Type::kArray, "Tags"},
      {"forkedFrom", Field::kForkedFrom, Type::kNumber, "Forked"},
      {"startTime", Field::kStartTime, Type::kDate, "Start Time"},
      {"endTime", Field::kEndTime, Type::kDate, "End Time"},
      {"duration", Field::kDuration, Type::kNumber, "Duration"},
      {"state", Field::kState, Type::kText, "State"},
      {"searcherType", Field::kSearcherType, Type::kText, "Searcher"},
      {"searcherMetric", Field::kSearcherMetric, Type::kText, "Searcher Metric"},
      {"searcherMetricsVal", Field::kSearcherMetricValue, Type::kNumber, "Searcher Metric Value"},
      {"resourcePool", Field::kResourcePool, Type::kText, "Resource Pool"},
      {"checkpointSize", Field::kCheckpointSize, Type::kNumber, "Checkpoint Size"},
      {"checkpointCount", Field::kCheckpointCount, Type::kNumber, "Checkpoints"},
      {"user", Field::kUser, Type::kText, "User"},
      {"externalExperimentId", Field::kExternalExperimentId, Type::kText, "External Experiment ID"},
      {"archived", Field::kArchived, Type::kFlag, "Archived"},
      {"projectId", Field::kProjectId, Type::kNumber, "Project ID"},
      {"parentArchived", Field::kParentArchived, Type::kFlag, "Parent Archived"},
  };
}

std::vector<FixedColumn> MakeExperimentColumns() {
  std::vector<FixedColumn> columns = {
      {"id", Field::kExperimentId, Type::kNumber, "ID"},
      {"name", Field::kName, Type::kText, "Name"},
      {"numTrials", Field::kNumTrials, Type::kNumber, "Trials"},
      {"progress", Field::kProgress, Type::kNumber, "Progress"},
      {"externalTrialId", Field::kExternalId, Type::kText, "External Trial ID"},
  };
  for (const FixedColumn& each : Shared()) columns.push_back(each);
  return columns;
}

std::vector<FixedColumn> MakeRunColumns() {
  std::vector<FixedColumn> columns = {
      {"id", Field::kRunId, Type::kNumber, "Global Run ID"},
      {"localId", Field::kLocalId, Type::kText, "Run ID"},
      {"experimentId", Field::kExperimentId, Type::kNumber, "Search ID"},
      {"experimentName", Field::kName, Type::kText, "Search Name"},
      {"experimentDescription", Field::kDescription, Type::kText, "Search Description"},
      {"experimentProgress", Field::kProgress, Type::kNumber, "Search Progress"},
      {"isExpMultitrial", Field::kIsMultitrial, Type::kFlag, "Part of Search"},
      {"externalRunId", Field::kExternalId, Type::kText, "External Run ID"},
      {"logPolicyMatched", Field::kLogPolicy, Type::kText, "Log Policy"},
  };
  for (const FixedColumn& each : Shared()) columns.push_back(each);
  return columns;
}

// Returns the key of a hyperparameter or of metadata: "hp.lr", "metadata.team". The prefix is
// optional if the location says what the name is. Empty for other columns.
std::string GetValueKey(const std::string& name, std::string_view location) {
  constexpr std::string_view kHp = "hp.";
  constexpr std::string_view kMetadata = "metadata.";
  for (const std::string_view prefix : {kHp, kMetadata}) {
    if (name.size() > prefix.size() && name.starts_with(prefix)) return name;
  }
  if (name.empty()) return "";
  if (location == "LOCATION_TYPE_HYPERPARAMETERS" ||
      location == "LOCATION_TYPE_RUN_HYPERPARAMETERS") {
    return absl::StrCat("hp.", name);
  }
  return location == "LOCATION_TYPE_RUN_METADATA" ? absl::StrCat("metadata.", name) : "";
}

// Aliases that requests may use.
std::string ResolveAlias(Table table, const std::string& name) {
  if (name == "searcherMetricValue") return std::string("searcherMetricsVal");
  if (name == "labels") return std::string("tags");
  if (table != Table::kRuns) return name;
  if (name == "name") return std::string("experimentName");
  if (name == "progress") return std::string("experimentProgress");
  return name;
}

}  // namespace

const std::vector<FixedColumn>& FixedColumns(Table table) {
  static const auto& runs = *new std::vector<FixedColumn>(MakeRunColumns());
  static const auto& experiments = *new std::vector<FixedColumn>(MakeExperimentColumns());
  return table == Table::kRuns ? runs : experiments;
}

absl::StatusOr<Column> ParseColumn(Table table, const std::string& name, std::string_view location,
                                   std::string_view type) {
  Column column;
  const bool metric = location == "LOCATION_TYPE_VALIDATIONS" ||
                      location == "LOCATION_TYPE_TRAINING" ||
                      location == "LOCATION_TYPE_CUSTOM_METRIC";
  const std::string key = GetValueKey(name, location);
  if (!key.empty() && !metric) {
    column.kind = Column::Kind::kValue;
    column.key = key;
    DET_ASSIGN_OR_RETURN(column.type, ReadType(type));
    return column;
  }
  if (!metric) {
    const std::vector<FixedColumn>& fixed = FixedColumns(table);
    const std::string usual = ResolveAlias(table, name);
    const auto found = std::find_if(fixed.begin(), fixed.end(),
                                    [&](const FixedColumn& each) { return usual == each.name; });
    if (found != fixed.end()) {
      column.field = found->field;
      column.type = found->type;
      return column;
    }
  }
  if (ReadMetric(name, column)) return column;
  return NoSuchColumn(table, name);
}

}  // namespace det::store
