#include "master/store/postgres/search_sql.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "master/store/postgres/search_fields.h"

namespace det::store {
namespace {

std::string GetColumnName(Statistic statistic, const char* row) {
  switch (statistic) {
    case Statistic::kLast:
      return absl::StrCat(row, ".last");
    case Statistic::kMin:
      return absl::StrCat(row, ".min");
    case Statistic::kMax:
      return absl::StrCat(row, ".max");
    case Statistic::kMean:
      break;
  }
  return absl::StrCat("(", row, ".sum / ", row, ".count)");
}

// Whether both columns are read from the same rows.
bool SameRows(const Column& a, const Column& b) {
  return a.kind != Column::Kind::kField && a.kind == b.kind && a.key == b.key &&
         a.group == b.group && a.metric == b.metric;
}

const char* GetOperatorSql(Operator op) {
  switch (op) {
    case Operator::kLess:
      return " < ";
    case Operator::kLessOrEqual:
      return " <= ";
    case Operator::kGreater:
      return " > ";
    case Operator::kGreaterOrEqual:
      return " >= ";
    default:
      return " = ";
  }
}

// Negated operators are true for rows without a value.
bool IsNegated(Operator op) {
  return op == Operator::kNotEqual || op == Operator::kNotContains || op == Operator::kIsEmpty;
}

// Collects the conditions that must all hold.
void CollectConjuncts(const Filter& filter, std::vector<const Condition*>& all) {
  if (filter.condition) all.push_back(&*filter.condition);
  if (filter.any && filter.parts.size() > 1) return;
  for (const Filter& part : filter.parts) CollectConjuncts(part, all);
}

// Returns a condition that rows of values or metrics can answer. The query then searches these rows
// instead of the runs, because each of them belongs to a different run.
const Condition* FindDriver(const Search& search) {
  std::vector<const Condition*> all;
  CollectConjuncts(search.filter, all);
  const Condition* driver = nullptr;
  for (const Condition* each : all) {
    if (each->column.kind == Column::Kind::kField || IsNegated(each->op)) continue;
    const bool sorted =
        !search.order.empty() && SameRows(each->column, search.order.front().column);
    if (driver == nullptr || sorted) driver = each;
  }
  return driver;
}

// Returns the column whose rows are searched instead of the runs; null if runs are searched.
const Column* FindSearchedColumn(const Search& search, const Condition* driver, SearchedRows rows) {
  if (rows != SearchedRows::kAll) return &search.order.front().column;
  return driver == nullptr ? nullptr : &driver->column;
}

class Writer {
 public:
  Writer(Table table, const Search& search, Param projects, SearchedRows rows)
      : runs_(table == Table::kRuns),
        by_project_(rows == SearchedRows::kNumbersByProject),
        driver_(runs_ ? FindDriver(search) : nullptr),
        driving_(runs_ ? FindSearchedColumn(search, driver_, rows) : nullptr),
        fields_(table, driving_ != nullptr) {
    params_.push_back(std::move(projects));
    if (driver_ != nullptr && !SameRows(driver_->column, *driving_)) driver_ = nullptr;
  }

  std::string Id() const { return runs_ ? driving_ != nullptr ? "d.trial" : "t.id" : "e.id"; }
  std::string From() const {
    if (!runs_) return std::string("experiments e");
    if (driving_ == nullptr) return std::string("trials t");
    return driving_->kind == Column::Kind::kMetric ? "metric_summaries d" : "run_values d";
  }
  // The condition that all rows must satisfy, for every search.
  std::string Base() {
    if (!runs_) return std::string("e.project = ANY($1::int[]) AND e.state <> 'DELETED'");
    if (driving_ == nullptr) return std::string("t.project = ANY($1::int[])");
    std::string rows = Rows(*driving_, "d", by_project_);
    if (by_project_) rows += " AND d.number IS NOT NULL";
    if (driver_ == nullptr) return rows;
    const std::string holds = CompareRow(*driver_, "d");
    return holds.empty() ? rows : absl::StrCat(rows, " AND ", holds);
  }

  std::string Write(const Filter& filter) {
    if (filter.condition) return Write(*filter.condition);
    if (filter.parts.empty()) return std::string("true");
    std::vector<std::string> parts;
    for (const Filter& part : filter.parts) parts.push_back(Write(part));
    return absl::StrCat("(", absl::StrJoin(parts, filter.any ? " OR " : " AND "), ")");
  }

  void AddOrder(const SortKey& key) {
    const char* direction = key.descending ? " DESC NULLS LAST" : " ASC NULLS LAST";
    const Column& column = key.column;
    if (column.kind == Column::Kind::kField) {
      std::string field = fields_.GetExpression(column.field);
      if (column.type == ColumnType::kArray) {
        field = absl::StrCat("ARRAY(SELECT l COLLATE \"C\" FROM jsonb_array_elements_text(", field,
                             ") l)");
      }
      return order_.push_back({std::move(field), direction});
    }
    const bool metric = column.kind == Column::Kind::kMetric;
    if (driving_ != nullptr && SameRows(column, *driving_)) {
      if (metric) return order_.push_back({GetColumnName(column.statistic, "d"), direction});
      // If all rows have a number, the position of rows without one in the index does not matter.
      order_.push_back({"d.number", by_project_ ? key.descending ? " DESC" : " ASC" : direction});
      return order_.push_back({"d.text", direction});
    }
    const std::string row = absl::StrCat("s", order_.size());
    absl::StrAppend(&order_from_, " LEFT JOIN LATERAL (SELECT ",
                    metric ? absl::StrCat(GetColumnName(column.statistic, "s"), " AS number")
                           : std::string("s.number, s.text"),
                    " FROM ", metric ? "metric_summaries" : "run_values", " s WHERE ",
                    Rows(column, "s"), " AND s.trial = ", fields_.GetRunId(), ") ", row,
                    " ON true");
    order_.push_back({absl::StrCat(row, ".number"), direction});
    if (!metric) order_.push_back({absl::StrCat(row, ".text"), direction});
  }

  std::string BuildJoins() const { return fields_.BuildJoins(); }
  const std::string& order_from() const { return order_from_; }
  std::vector<SearchSql::OrderKey> TakeOrder() { return std::move(order_); }
  int num_params() const { return static_cast<int>(params_.size()); }
  Params TakeParams() { return std::move(params_); }

 private:
  std::string Add(Param param) {
    params_.push_back(std::move(param));
    return absl::StrCat("$", params_.size());
  }
  std::string Add(const Operand& operand) {
    if (const auto* number = std::get_if<double>(&operand)) {
      return absl::StrCat(Add(ToParam(*number)), "::double precision");
    }
    if (const auto* time = std::get_if<absl::Time>(&operand)) {
      return absl::StrCat(Add(ToParam(*time)), "::timestamptz");
    }
    if (const auto* flag = std::get_if<bool>(&operand)) {
      return absl::StrCat(Add(ToParam(*flag)), "::boolean");
    }
    const auto* text = std::get_if<std::string>(&operand);
    return absl::StrCat(Add(ToParam(text == nullptr ? std::string() : *text)), "::text");
  }

  // Condition for the rows of a column, for all trials.
  std::string Rows(const Column& column, const char* row, bool of_one_project = false) {
    const std::string of = absl::StrCat(
        row, of_one_project ? ".project = q.project AND " : ".project = ANY($1::int[]) AND ", row);
    if (column.kind == Column::Kind::kValue) {
      return absl::StrCat(of, ".key = ", Add(Operand(column.key)));
    }
    const std::string group = Add(Operand(column.group));
    return absl::StrCat(of, ".group_name = ", group, " AND ", row,
                        ".metric = ", Add(Operand(column.metric)));
  }

  // Condition on a row of values or metrics; empty if the existence of the row is sufficient.
  std::string CompareRow(const Condition& condition, const char* row) {
    const Column& column = condition.column;
    const bool asks_presence =
        condition.op == Operator::kIsEmpty || condition.op == Operator::kNotEmpty;
    if (column.kind == Column::Kind::kMetric) {
      if (asks_presence) return std::string();
      return Compare(GetColumnName(column.statistic, row), ColumnType::kNumber, condition);
    }
    if (asks_presence) {
      return absl::StrCat("(", row, ".number IS NOT NULL OR ", row, ".text <> '')");
    }
    const char* value = column.type == ColumnType::kNumber ? ".number" : ".text";
    return Compare(absl::StrCat(row, value), column.type, condition);
  }

  // Few experiments are archived, so their runs are looked up instead of the experiments of all
  // runs.
  std::string WriteArchived(const Condition& condition) {
    const bool archived = std::get<bool>(condition.operand) == (condition.op == Operator::kEqual);
    return absl::StrCat(fields_.GetRunId(), archived ? "" : " NOT",
                        " IN (SELECT y.id FROM experiments x JOIN trials y ON y.experiment = x.id "
                        "WHERE x.archived)");
  }

  std::string Write(const Condition& condition) {
    if (&condition == driver_) return std::string("true");
    const Column& column = condition.column;
    if (column.kind == Column::Kind::kField) {
      if (runs_ && column.field == Field::kArchived &&
          std::holds_alternative<bool>(condition.operand)) {
        return WriteArchived(condition);
      }
      const std::string holds =
          Compare(fields_.GetExpression(column.field), column.type, condition);
      return IsNegated(condition.op) ? absl::StrCat("NOT coalesce(", holds, ", false)") : holds;
    }
    std::string rows = Rows(column, "s");
    const std::string holds = CompareRow(condition, "s");
    if (!holds.empty()) absl::StrAppend(&rows, " AND ", holds);
    return absl::StrCat(fields_.GetRunId(), IsNegated(condition.op) ? " NOT" : "",
                        " IN (SELECT s.trial FROM ",
                        column.kind == Column::Kind::kMetric ? "metric_summaries" : "run_values",
                        " s WHERE ", rows, ")");
  }

  // Compares without the negation of a negated operator. The result is NULL if there is no value.
  std::string Compare(const std::string& value, ColumnType type, const Condition& condition) {
    switch (condition.op) {
      case Operator::kIsEmpty:
      case Operator::kNotEmpty:
        if (type == ColumnType::kText) return absl::StrCat("(", value, " <> '')");
        if (type == ColumnType::kArray) return absl::StrCat("(", value, " <> '[]'::jsonb)");
        return absl::StrCat("(", value, " IS NOT NULL)");
      case Operator::kContains:
      case Operator::kNotContains:
        if (type == ColumnType::kArray) {
          return absl::StrCat("(", value, " @> jsonb_build_array(", Add(condition.operand), "))");
        }
        return absl::StrCat("(strpos(lower(", value, "), lower(", Add(condition.operand),
                            ")) > 0)");
      default:
        return absl::StrCat("(", value, GetOperatorSql(condition.op), Add(condition.operand), ")");
    }
  }

  const bool runs_, by_project_;
  const Condition* driver_;  // condition that the searched rows answer
  const Column* driving_;    // column whose rows are searched instead of the runs
  SearchFields fields_;
  Params params_;
  std::string order_from_;
  std::vector<SearchSql::OrderKey> order_;
};

// The order of a query whose rows have these names: "k0", ...
std::string MakeOrder(const std::vector<SearchSql::OrderKey>& keys, bool named) {
  std::vector<std::string> parts;
  for (const SearchSql::OrderKey& key : keys) {
    parts.push_back(named ? absl::StrCat("x.k", parts.size(), key.direction)
                          : absl::StrCat(key.expression, key.direction));
  }
  return absl::StrCat(" ORDER BY ", absl::StrJoin(parts, ", "));
}

std::string Cut(int offset, int limit) {
  return absl::StrCat(" OFFSET ", offset, " LIMIT ", limit);
}

}  // namespace

std::string SearchSql::Count() const {
  return absl::StrCat("SELECT count(*) FROM ", filter_from, where);
}

std::string SearchSql::Page(int offset, int limit) const {
  if (!by_project) {
    return absl::StrCat("SELECT ", id, " FROM ", order_from, where, MakeOrder(order, false),
                        Cut(offset, limit));
  }
  std::vector<std::string> columns;
  for (const OrderKey& key : order) {
    columns.push_back(absl::StrCat(key.expression, " AS k", columns.size()));
  }
  // The last key is the run's ID.
  return absl::StrCat("SELECT x.k", order.size() - 1,
                      " FROM unnest($1::int[]) q (project) CROSS JOIN LATERAL (SELECT ",
                      absl::StrJoin(columns, ", "), " FROM ", order_from, where,
                      MakeOrder(order, false), Cut(0, offset + limit), ") x",
                      MakeOrder(order, true), Cut(offset, limit));
}

std::string SearchSql::CountedPage(int offset, int limit) const {
  return absl::StrCat("SELECT ", id, ", count(*) OVER () FROM ", order_from, where,
                      MakeOrder(order, false), Cut(offset, limit));
}

SearchSql ToSql(Table table, const Search& search, Param projects, SearchedRows rows) {
  SearchSql sql;
  Writer writer(table, search, std::move(projects), rows);
  sql.id = writer.Id();
  sql.by_project = rows == SearchedRows::kNumbersByProject;
  const std::string from = writer.From();
  const std::string base = writer.Base();
  sql.where = absl::StrCat(" WHERE ", base, " AND ", writer.Write(search.filter));
  sql.filter_from = absl::StrCat(from, writer.BuildJoins());
  sql.num_filter_params = writer.num_params();
  for (const SortKey& key : search.order) writer.AddOrder(key);
  sql.order = writer.TakeOrder();
  const bool newest_first = search.order.empty() || search.order.back().descending;
  sql.order.push_back({sql.id, newest_first ? " DESC" : " ASC"});
  sql.order_from = absl::StrCat(from, writer.BuildJoins(), writer.order_from());
  sql.params = writer.TakeParams();
  return sql;
}

bool CanSearch(Table table, const Search& search, SearchedRows rows) {
  if (rows == SearchedRows::kAll) return true;
  if (table != Table::kRuns || search.order.empty()) return false;
  const Column::Kind first = search.order.front().column.kind;
  return first == Column::Kind::kValue ||
         (first == Column::Kind::kMetric && rows == SearchedRows::kHavingKey);
}

}  // namespace det::store
