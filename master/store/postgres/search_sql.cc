#include "master/store/postgres/search_sql.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "master/store/postgres/rows.h"

namespace det::store {
namespace {

// Tables beside the one that is searched, in the order in which they can be joined.
enum Join { kTrial, kExperiment, kUser, kProject, kRun, kTrials, kCheckpoints, kNumJoins };

const char* SqlOf(Join join, Table table) {
  const bool runs = table == Table::kRuns;
  switch (join) {
    case kTrial:
      return " JOIN trials t ON t.id = d.trial";
    case kExperiment:
      return runs ? " JOIN experiments e ON e.id = t.experiment" : "";
    case kUser:
      return " LEFT JOIN users u ON u.id = e.owner";
    case kProject:
      return " LEFT JOIN projects p ON p.id = e.project "
             "LEFT JOIN workspaces w ON w.id = p.workspace";
    case kRun:
      return runs ? ""
                  : " CROSS JOIN LATERAL (SELECT coalesce(e.best_trial, "
                    "(SELECT min(f.id) FROM trials f WHERE f.experiment = e.id)) AS id) r";
    case kTrials:
      return " CROSS JOIN LATERAL (SELECT count(*) AS trials FROM trials f "
             "WHERE f.experiment = e.id) n";
    case kCheckpoints:
      return runs ? " CROSS JOIN LATERAL (SELECT count(*) AS number, coalesce(sum(c.size), 0) AS "
                    "size FROM checkpoints c WHERE c.trial = t.id AND c.state <> 'DELETED') k"
                  : " CROSS JOIN LATERAL (SELECT count(*) AS number, coalesce(sum(c.size), 0) AS "
                    "size FROM trials f JOIN checkpoints c ON c.trial = f.id "
                    "WHERE f.experiment = e.id AND c.state <> 'DELETED') k";
    case kNumJoins:
      break;
  }
  return "";
}

// As the fake's ShownState.
constexpr char kShownStateSql[] =
    "CASE WHEN e.state <> 'ACTIVE' THEN e.state "
    "WHEN EXISTS (SELECT FROM trials f WHERE f.experiment = e.id "
    "AND f.state IN ('RUNNING', 'STOPPING')) THEN 'RUNNING' "
    "WHEN EXISTS (SELECT FROM trials f WHERE f.experiment = e.id AND f.state = 'QUEUED') "
    "THEN 'QUEUED' ELSE e.state END";

const char* RankingMetric() {
  static const auto& sql = *new std::string(absl::StrCat("(", kRankingMetric, " COLLATE \"C\")"));
  return sql.c_str();
}

std::string NameOf(Statistic statistic, const char* row) {
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

// Whether both are read from the same rows.
bool SameRows(const Column& a, const Column& b) {
  return a.kind != Column::Kind::kField && a.kind == b.kind && a.key == b.key &&
         a.group == b.group && a.metric == b.metric;
}

const char* SignOf(Operator op) {
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

// The operators that say no are the others' contraries, and hold where there is no value.
bool IsContrary(Operator op) {
  return op == Operator::kNotEqual || op == Operator::kNotContains || op == Operator::kIsEmpty;
}

// Those of which each must hold.
void Collect(const Filter& filter, std::vector<const Condition*>& all) {
  if (filter.condition) all.push_back(&*filter.condition);
  if (filter.any && filter.parts.size() > 1) return;
  for (const Filter& part : filter.parts) Collect(part, all);
}

// One that rows of values or metrics answer: these are searched then, in place of the runs, as each
// of them is of another run.
const Condition* FindDriver(const Search& search) {
  std::vector<const Condition*> all;
  Collect(search.filter, all);
  const Condition* driver = nullptr;
  for (const Condition* each : all) {
    if (each->column.kind == Column::Kind::kField || IsContrary(each->op)) continue;
    const bool sorted =
        !search.order.empty() && SameRows(each->column, search.order.front().column);
    if (driver == nullptr || sorted) driver = each;
  }
  return driver;
}

class Writer {
 public:
  Writer(Table table, const Search& search, Param projects, bool having)
      : runs_(table == Table::kRuns), table_(table) {
    params_.push_back(std::move(projects));
    if (!runs_) return;
    driver_ = FindDriver(search);
    if (driver_ != nullptr) driving_ = &driver_->column;
    if (!having) return;
    driving_ = &search.order.front().column;
    if (driver_ != nullptr && !SameRows(driver_->column, *driving_)) driver_ = nullptr;
  }

  std::string Id() const { return runs_ ? driving_ != nullptr ? "d.trial" : "t.id" : "e.id"; }
  std::string From() const {
    if (!runs_) return std::string("experiments e");
    if (driving_ == nullptr) return std::string("trials t");
    return driving_->kind == Column::Kind::kMetric ? "metric_summaries d" : "run_values d";
  }
  // What all rows must be, whatever is asked.
  std::string Base() {
    if (!runs_) return std::string("e.project = ANY($1::int[]) AND e.state <> 'DELETED'");
    if (driving_ == nullptr) return std::string("t.project = ANY($1::int[])");
    const std::string rows = Rows(*driving_, "d");
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

  std::string WriteOrder(const SortKey& key, int number) {
    const char* way = key.descending ? " DESC NULLS LAST" : " ASC NULLS LAST";
    const Column& column = key.column;
    if (column.kind == Column::Kind::kField) {
      if (column.type != ColumnType::kArray) return absl::StrCat(Expression(column.field), way);
      return absl::StrCat("ARRAY(SELECT l COLLATE \"C\" FROM jsonb_array_elements_text(",
                          Expression(column.field), ") l)", way);
    }
    const bool metric = column.kind == Column::Kind::kMetric;
    if (driving_ != nullptr && SameRows(column, *driving_)) {
      if (metric) return absl::StrCat(NameOf(column.statistic, "d"), way);
      return absl::StrCat("d.number", way, ", d.text", way);
    }
    const std::string row = absl::StrCat("s", number);
    absl::StrAppend(&order_from_, " LEFT JOIN LATERAL (SELECT ",
                    metric ? absl::StrCat(NameOf(column.statistic, "s"), " AS number")
                           : std::string("s.number, s.text"),
                    " FROM ", metric ? "metric_summaries" : "run_values", " s WHERE ",
                    Rows(column, "s"), " AND s.trial = ", Run(), ") ", row, " ON true");
    const std::string number_first = absl::StrCat(row, ".number", way);
    return metric ? number_first : absl::StrCat(number_first, ", ", row, ".text", way);
  }

  std::string Joins() const {
    std::string joins;
    for (int i = 0; i < kNumJoins; ++i) {
      if (needed_[i]) joins += SqlOf(static_cast<Join>(i), table_);
    }
    return joins;
  }
  const std::string& order_from() const { return order_from_; }
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

  void Need(Join join) {
    if (driving_ != nullptr) needed_[kTrial] = true;
    // All others say something of the experiment.
    if (join != kTrial && (join != kCheckpoints || !runs_)) needed_[kExperiment] = true;
    needed_[join] = true;
  }
  const char* Run() {
    if (runs_) return driving_ != nullptr ? "d.trial" : "t.id";
    Need(kRun);
    return "r.id";
  }
  const char* Of(Join join, const char* sql) {
    Need(join);
    return sql;
  }

  // Which of the rows are the column's, whatever the trial.
  std::string Rows(const Column& column, const char* row) {
    const std::string of = absl::StrCat(row, ".project = ANY($1::int[]) AND ", row);
    if (column.kind == Column::Kind::kValue) {
      return absl::StrCat(of, ".key = ", Add(Operand(column.key)));
    }
    const std::string group = Add(Operand(column.group));
    return absl::StrCat(of, ".group_name = ", group, " AND ", row,
                        ".metric = ", Add(Operand(column.metric)));
  }

  // Of a row of values or metrics; empty: that it is there is enough.
  std::string CompareRow(const Condition& condition, const char* row) {
    const Column& column = condition.column;
    const bool asks_presence =
        condition.op == Operator::kIsEmpty || condition.op == Operator::kNotEmpty;
    if (column.kind == Column::Kind::kMetric) {
      if (asks_presence) return std::string();
      return Compare(NameOf(column.statistic, row), ColumnType::kNumber, condition);
    }
    if (asks_presence) {
      return absl::StrCat("(", row, ".number IS NOT NULL OR ", row, ".text <> '')");
    }
    const char* value = column.type == ColumnType::kNumber ? ".number" : ".text";
    return Compare(absl::StrCat(row, value), column.type, condition);
  }

  // Few are archived, if any: those are looked up, not the experiments of all others.
  std::string WriteArchived(const Condition& condition) {
    const bool archived = std::get<bool>(condition.operand) == (condition.op == Operator::kEqual);
    return absl::StrCat(Run(), archived ? "" : " NOT",
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
      const std::string holds = Compare(Expression(column.field), column.type, condition);
      return IsContrary(condition.op) ? absl::StrCat("NOT coalesce(", holds, ", false)") : holds;
    }
    std::string rows = Rows(column, "s");
    const std::string holds = CompareRow(condition, "s");
    if (!holds.empty()) absl::StrAppend(&rows, " AND ", holds);
    return absl::StrCat(Run(), IsContrary(condition.op) ? " NOT" : "", " IN (SELECT s.trial FROM ",
                        column.kind == Column::Kind::kMetric ? "metric_summaries" : "run_values",
                        " s WHERE ", rows, ")");
  }

  // Of the contraries, what they deny. Null where there is no value.
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
        return absl::StrCat("(", value, SignOf(condition.op), Add(condition.operand), ")");
    }
  }

  std::string Expression(Field field) {
    if (runs_ && field == Field::kRunId) return Run();
    if (driving_ != nullptr) Need(kTrial);
    const auto own = [this](const char* column) {
      return absl::StrCat(runs_ ? "t." : "e.", column);
    };
    switch (field) {
      case Field::kLocalId:
        return Of(kProject, "((p.key || '-' || t.id) COLLATE \"C\")");
      case Field::kExperimentId:
        return runs_ ? "t.experiment" : "e.id";
      case Field::kStartTime:
        return own("created_at");
      case Field::kEndTime:
        return own("ended_at");
      case Field::kDuration:
        return absl::StrCat("extract(epoch FROM coalesce(CASE WHEN isfinite(", own("ended_at"),
                            ") THEN ", own("ended_at"), " END, now()) - ", own("created_at"),
                            ")::double precision");
      case Field::kState:
        return own("state");
      case Field::kShownState:
        return kShownStateSql;
      case Field::kSearcherMetricValue:
        return own("best_metric");
      case Field::kCheckpointSize:
        return Of(kCheckpoints, "k.size");
      case Field::kCheckpointCount:
        return Of(kCheckpoints, "k.number");
      case Field::kProjectId:
        return own("project");
      default:
        return OfExperiment(field);
    }
  }

  const char* OfExperiment(Field field) {
    switch (field) {
      case Field::kName:
        return Of(kExperiment, "e.name");
      case Field::kDescription:
        return Of(kExperiment, "(e.description COLLATE \"C\")");
      case Field::kTags:
        return Of(kExperiment, "e.labels");
      case Field::kForkedFrom:
        return Of(kExperiment, "e.forked_from");
      case Field::kNumTrials:
        return Of(kTrials, "n.trials");
      case Field::kSearcherType:
        return Of(kExperiment, "(e.searcher_name COLLATE \"C\")");
      case Field::kSearcherMetric:
        return Of(kExperiment, RankingMetric());
      case Field::kResourcePool:
        return Of(kExperiment, "(e.resource_pool COLLATE \"C\")");
      case Field::kProgress:
        return Of(kExperiment, "e.progress");
      case Field::kUser:
        return Of(kUser, "coalesce(u.username, '')");
      case Field::kArchived:
        return Of(kExperiment, "e.archived");
      case Field::kParentArchived:
        return Of(kProject, "coalesce(p.archived OR w.archived, false)");
      case Field::kIsMultitrial:
        return Of(kExperiment, "(e.searcher_name <> 'single')");
      default:
        return "NULL::text";
    }
  }

  const bool runs_;
  const Table table_;
  const Condition* driver_ = nullptr;
  const Column* driving_ = nullptr;  // of the rows that are searched in place of the runs
  Params params_;
  bool needed_[kNumJoins] = {};
  std::string order_from_;
};

}  // namespace

SearchSql ToSql(Table table, const Search& search, Param projects, bool having) {
  SearchSql sql;
  Writer writer(table, search, std::move(projects), having);
  sql.id = writer.Id();
  const std::string from = writer.From();
  const std::string base = writer.Base();
  sql.where = absl::StrCat(" WHERE ", base, " AND ", writer.Write(search.filter));
  sql.filter_from = absl::StrCat(from, writer.Joins());
  sql.num_filter_params = writer.num_params();
  std::vector<std::string> keys;
  for (const SortKey& key : search.order) {
    keys.push_back(writer.WriteOrder(key, static_cast<int>(keys.size())));
  }
  const bool newest_first = search.order.empty() || search.order.back().descending;
  keys.push_back(absl::StrCat(sql.id, newest_first ? " DESC" : " ASC"));
  sql.order_from = absl::StrCat(from, writer.Joins(), writer.order_from());
  sql.order = absl::StrCat(" ORDER BY ", absl::StrJoin(keys, ", "));
  sql.params = writer.TakeParams();
  return sql;
}

bool CanHave(Table table, const Search& search) {
  return table == Table::kRuns && !search.order.empty() &&
         search.order.front().column.kind != Column::Kind::kField;
}

}  // namespace det::store
