#include "master/store/interfaces/search.h"

#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "master/core/model/value.h"
#include "master/store/interfaces/search_columns.h"

namespace det::store {
namespace {

constexpr int kDepth = 16;
constexpr int kConditions = 100;
constexpr size_t kSortKeys = 10;

constexpr std::array<std::pair<std::string_view, Operator>, 10> kOperators = {{
    {"=", Operator::kEqual},
    {"!=", Operator::kNotEqual},
    {"<", Operator::kLess},
    {"<=", Operator::kLessOrEqual},
    {">", Operator::kGreater},
    {">=", Operator::kGreaterOrEqual},
    {"contains", Operator::kContains},
    {"notContains", Operator::kNotContains},
    {"isEmpty", Operator::kIsEmpty},
    {"notEmpty", Operator::kNotEmpty},
}};

absl::Status InvalidCondition(const std::string& column, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("filter, column \"", column, "\": ", why));
}

std::string TextAt(const model::Value& object, std::string_view key) {
  const model::Value* value = object.Find(key);
  const std::string* text = value == nullptr ? nullptr : value->AsString();
  return text == nullptr ? "" : *text;
}

bool TakesOperand(Operator op) { return op != Operator::kIsEmpty && op != Operator::kNotEmpty; }

bool Fits(Operator op, const Column& column) {
  switch (op) {
    case Operator::kEqual:
    case Operator::kNotEqual:
      return column.type != ColumnType::kArray;
    case Operator::kContains:
    case Operator::kNotContains:
      return column.type == ColumnType::kText || column.type == ColumnType::kArray;
    case Operator::kIsEmpty:
    case Operator::kNotEmpty:
      return true;
    default:
      return column.type == ColumnType::kNumber || column.type == ColumnType::kDate;
  }
}

std::string Printed(const model::Value& value) {
  return value.AsString() != nullptr ? *value.AsString() : value.ToJson();
}

absl::StatusOr<Operand> ReadOperand(const std::string& name, const Column& column,
                                    const model::Value& value) {
  const std::string text = Printed(value);
  switch (column.type) {
    case ColumnType::kNumber: {
      double number = 0;
      if (const auto direct = value.AsNumber()) return Operand(*direct);
      if (absl::SimpleAtod(text, &number)) return Operand(number);
      return InvalidCondition(name, absl::StrCat("\"", text, "\" is not a number"));
    }
    case ColumnType::kDate: {
      // Metadata stores dates as strings, which sort chronologically.
      if (column.kind == Column::Kind::kValue) return Operand(text);
      absl::Time time;
      std::string error;
      if (absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return Operand(time);
      if (absl::ParseTime("%Y-%m-%d", text, &time, &error)) return Operand(time);
      return InvalidCondition(
          name, absl::StrCat("\"", text, "\" is not a time such as 2026-01-31T12:00:00Z"));
    }
    case ColumnType::kFlag:
      if (text == "true") return Operand(true);
      if (text == "false") return Operand(false);
      return InvalidCondition(name, absl::StrCat("\"", text, "\" is neither true nor false"));
    case ColumnType::kText:
    case ColumnType::kArray:
      break;
  }
  return Operand(text);
}

// Stored states for displayed names.
std::vector<std::string> ToStoredStates(Table table, const std::string& given) {
  std::string state = absl::AsciiStrToUpper(given);
  if (absl::StartsWith(state, "STATE_")) state.erase(0, 6);
  const bool starts = state == "PULLING" || state == "STARTING";
  if (table == Table::kExperiments) {
    if (starts) return {"RUNNING"};
    if (state == "STOPPING_KILLED") return {"STOPPING_CANCELED"};
    return {state};
  }
  if (state == "ACTIVE") return {"QUEUED", "RUNNING"};
  if (starts) return {"RUNNING"};
  if (absl::StartsWith(state, "STOPPING")) return {"STOPPING"};
  return {state};
}

// Whether the trials determine the state: the experiment itself is stored as ACTIVE.
bool DependsOnTrials(Table table, std::string_view kept) {
  return table == Table::kExperiments && (kept == "RUNNING" || kept == "QUEUED");
}

Filter MakeStateFilter(Table table, Condition condition) {
  const std::string given = std::get<std::string>(condition.operand);
  Filter group;
  group.any = condition.op == Operator::kEqual || condition.op == Operator::kContains;
  for (const std::string& state : ToStoredStates(table, given)) {
    Filter one;
    condition.operand = state;
    condition.column.field = DependsOnTrials(table, state) ? Field::kShownState : Field::kState;
    one.condition = condition;
    group.parts.push_back(std::move(one));
  }
  return group;
}

class Reader {
 public:
  explicit Reader(Table table) : table_(table) {}

  absl::StatusOr<Filter> ReadGroup(const model::Value& value, int depth) {
    if (depth > kDepth) {
      return absl::InvalidArgumentError(
          absl::StrCat("groups of the filter are nested deeper than ", kDepth));
    }
    Filter group;
    const std::string conjunction = TextAt(value, "conjunction");
    if (conjunction != "and" && conjunction != "or") {
      return absl::InvalidArgumentError(absl::StrCat("a group of the filter has the conjunction \"",
                                                     conjunction,
                                                     "\"; expected \"and\" or \"or\""));
    }
    group.any = conjunction == "or";
    const model::Value* children = value.Find("children");
    if (children == nullptr || children->AsList() == nullptr) return group;
    for (const model::Value& child : *children->AsList()) {
      const std::string kind = TextAt(child, "kind");
      if (kind == "group") {
        DET_ASSIGN_OR_RETURN(Filter part, ReadGroup(child, depth + 1));
        // An incomplete condition has no effect.
        if (!part.parts.empty()) group.parts.push_back(std::move(part));
      } else if (kind == "field") {
        DET_ASSIGN_OR_RETURN(std::optional<Filter> part, ReadCondition(child));
        if (part) group.parts.push_back(*std::move(part));
      } else {
        return absl::InvalidArgumentError(absl::StrCat("a child of the filter is a \"", kind,
                                                       "\"; expected \"group\" or \"field\""));
      }
    }
    return group;
  }

 private:
  // Nullopt if the value is missing, as while the user is typing.
  absl::StatusOr<std::optional<Filter>> ReadCondition(const model::Value& value) {
    const std::string name = TextAt(value, "columnName");
    std::string type = TextAt(value, "type");
    const model::Value* operand = value.Find("value");
    const bool unsaid = type.empty() || type == "COLUMN_TYPE_UNSPECIFIED";
    if (unsaid && operand != nullptr && operand->AsNumber()) type = "COLUMN_TYPE_NUMBER";
    Condition condition;
    DET_ASSIGN_OR_RETURN(condition.column,
                         ParseColumn(table_, name, TextAt(value, "location"), type));
    if (condition.column.field == Field::kUser && operand != nullptr && operand->AsNumber()) {
      condition.column.field = Field::kUserId;
      condition.column.type = ColumnType::kNumber;
    }
    const std::string word = TextAt(value, "operator");
    bool known = false;
    for (const auto& [text, op] : kOperators) {
      if (text != word) continue;
      condition.op = op;
      known = true;
    }
    if (!known) return InvalidCondition(name, absl::StrCat("there is no operator \"", word, "\""));
    if (!Fits(condition.op, condition.column)) {
      return InvalidCondition(
          name, absl::StrCat("the operator \"", word, "\" does not apply to its type"));
    }
    if (TakesOperand(condition.op)) {
      if (operand == nullptr || operand->is_null()) return std::optional<Filter>();
      DET_ASSIGN_OR_RETURN(condition.operand, ReadOperand(name, condition.column, *operand));
    }
    if (++count_ > kConditions) {
      return absl::InvalidArgumentError(
          absl::StrCat("the filter has more than ", kConditions, " conditions"));
    }
    if (condition.column == StateColumn() && TakesOperand(condition.op)) {
      return std::optional(MakeStateFilter(table_, std::move(condition)));
    }
    Filter one;
    one.condition = std::move(condition);
    return std::optional(std::move(one));
  }

  static Column StateColumn() {
    Column column;
    column.field = Field::kState;
    return column;
  }

  const Table table_;
  int count_ = 0;
};

absl::StatusOr<Filter> ParseFilter(Table table, std::string_view text) {
  Filter whole;
  if (absl::StripAsciiWhitespace({text.data(), text.size()}).empty()) return whole;
  const absl::StatusOr<model::Value> value = model::Value::FromJson(text);
  if (!value.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the filter is not valid JSON: ", value.status().message()));
  }
  if (const model::Value* group = value->Find("filterGroup")) {
    Reader reader(table);
    DET_ASSIGN_OR_RETURN(Filter requested, reader.ReadGroup(*group, 1));
    if (!requested.parts.empty()) whole.parts.push_back(std::move(requested));
  }
  const model::Value* archived = value->Find("showArchived");
  const bool* shown = archived == nullptr ? nullptr : archived->AsBool();
  if (shown == nullptr || !*shown) {
    Condition condition;
    condition.column.field = Field::kArchived;
    condition.column.type = ColumnType::kFlag;
    condition.operand = false;
    Filter one;
    one.condition = std::move(condition);
    whole.parts.push_back(std::move(one));
  }
  return whole;
}

absl::StatusOr<std::vector<SortKey>> ParseOrder(Table table, std::string_view text) {
  std::vector<SortKey> order;
  const absl::string_view all(text.data(), text.size());
  const std::vector<std::string> parts = absl::StrSplit(all, ',', absl::SkipWhitespace());
  for (const std::string& part : parts) {
    const size_t equals = part.rfind('=');
    const std::string name(absl::StripAsciiWhitespace(part.substr(0, equals)));
    const std::string way = equals == std::string::npos
                                ? std::string("asc")
                                : std::string(absl::StripAsciiWhitespace(part.substr(equals + 1)));
    if (way != "asc" && way != "desc") {
      return absl::InvalidArgumentError(absl::StrCat("sort: \"", part,
                                                     "\" is invalid; expected \"column=asc\" or "
                                                     "\"column=desc\""));
    }
    SortKey key;
    DET_ASSIGN_OR_RETURN(key.column, ParseColumn(table, name, "", ""));
    key.descending = way == "desc";
    order.push_back(std::move(key));
  }
  if (order.size() > kSortKeys) {
    return absl::InvalidArgumentError(
        absl::StrCat("sort: at most ", kSortKeys, " columns, not ", order.size()));
  }
  return order;
}

}  // namespace

absl::StatusOr<Search> ParseSearch(Table table, std::string_view filter, std::string_view sort) {
  Search search;
  DET_ASSIGN_OR_RETURN(search.filter, ParseFilter(table, filter));
  DET_ASSIGN_OR_RETURN(search.order, ParseOrder(table, sort));
  return search;
}

}  // namespace det::store
