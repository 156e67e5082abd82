#include "master/simulate/workload.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "master/core/model/value.h"
#include "master/core/scheduler/json/members.h"
#include "master/parse/config_node.h"

namespace det::simulate {
namespace {

using model::Value;
using scheduler::Members;
using scheduler::Problems;

constexpr int kMaxSlots = 1 << 24;

void Require(Members& m, std::string_view key) {
  if (!m.is_object()) return;
  if (m.Find(key) == nullptr) m.Complain(key, "is missing");
}

// `where` ends with a colon: "trace.csv:12:".
Job ReadJob(const Value& row, const std::string& where, Problems* problems) {
  Members m(row, where, problems);
  Job job;
  Require(m, "arrival");
  m.ReadDuration("arrival", &job.arrival);
  Require(m, "slots");
  m.ReadInt("slots", 0, kMaxSlots, &job.slots);
  Require(m, "length");
  if (m.ReadDuration("length", &job.length) && job.length == absl::ZeroDuration()) {
    m.Complain("length", "must be longer than 0");
  }
  m.Read("user", &job.user);
  m.Read("workspace", &job.workspace);
  m.ReadInt("priority", 1, 99, &job.priority);
  if (m.ReadNumber("weight", 0, &job.weight) && job.weight == 0) {
    m.Complain("weight", "must be greater than 0");
  }
  absl::Duration limit;
  if (m.ReadDuration("max_run_time", &limit)) job.max_run_time = limit;
  m.Read("pool", &job.pool);
  m.Read("preemptible", &job.preemptible);
  m.RejectUnknownMembers();
  if (job.arrival == absl::InfiniteDuration()) m.Complain("arrival", "must be finite");
  if (job.length == absl::InfiniteDuration()) m.Complain("length", "must be finite");
  return job;
}

// Converts a cell to the value that it would have in YAML.
Value CellValue(absl::string_view text) {
  int64_t integer = 0;
  double number = 0;
  if (absl::SimpleAtoi(text, &integer)) return integer;
  if (absl::SimpleAtod(text, &number)) return number;
  if (text == "true" || text == "false") return text == "true";
  return std::string(text);
}

class CsvReader {
 public:
  CsvReader(const std::string& name, Problems* problems) : name_(name), problems_(problems) {}

  Workload Read(absl::string_view text) {
    Workload workload;
    int number = 0;
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      ++number;
      line = absl::StripAsciiWhitespace(line);
      if (line.empty() || line[0] == '#') continue;
      const std::string where = absl::StrCat(name_, ":", number, ":");
      const std::vector<std::string> cells = Cells(line);
      if (columns_.empty()) {
        ReadHeader(cells, where);
      } else if (cells.size() != columns_.size()) {
        problems_->Add("", absl::StrCat(where, " ", cells.size(), " cells; expected ",
                                        columns_.size(), " columns"));
      } else {
        workload.push_back(ReadJob(Row(cells), where, problems_));
      }
    }
    return workload;
  }

 private:
  static std::vector<std::string> Cells(absl::string_view line) {
    std::vector<std::string> cells;
    for (const absl::string_view cell : absl::StrSplit(line, ',')) {
      cells.emplace_back(absl::StripAsciiWhitespace(cell));
    }
    return cells;
  }

  void ReadHeader(const std::vector<std::string>& names, const std::string& where) {
    columns_ = names;
    if (std::set<std::string>(names.begin(), names.end()).size() != names.size()) {
      problems_->Add("", where + " duplicate column");
    }
  }

  Value Row(const std::vector<std::string>& cells) const {
    Value::Object row;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (!cells[i].empty()) row[columns_[i]] = CellValue(cells[i]);
    }
    return row;
  }

  const std::string& name_;
  Problems* problems_;
  std::vector<std::string> columns_;
};

absl::StatusOr<Workload> ReadYamlJobs(std::string_view text, const std::string& name,
                                      Problems* problems) {
  DET_ASSIGN_OR_RETURN(const model::ConfigNode root, model::ReadYaml(text, name, true));
  const model::ConfigNode* jobs = root.is_map() ? root.Find("jobs") : &root;
  if (jobs == nullptr || !jobs->is_list()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": expected a list of jobs, or a map with `jobs:`"));
  }
  Workload workload;
  for (const model::ConfigNode& item : jobs->items) {
    workload.push_back(ReadJob(item.ToValue(), item.where + ":", problems));
  }
  return workload;
}

// Decides by the first line that is not empty: a list of column names has commas and no colon.
bool LooksLikeCsv(absl::string_view text) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    return line.find(':') == absl::string_view::npos && line[0] != '-' && line[0] != '[';
  }
  return true;
}

std::string Seconds(absl::Duration duration) {
  return absl::StrCat(absl::ToDoubleSeconds(duration));
}

// A column of the written file, and its text for a job; empty for the default.
struct ColumnText {
  const char* name;
  std::string (*text)(const Job&);
};
constexpr ColumnText kColumns[] = {
    {"arrival", [](const Job& j) { return Seconds(j.arrival); }},
    {"slots", [](const Job& j) { return absl::StrCat(j.slots); }},
    {"length", [](const Job& j) { return Seconds(j.length); }},
    {"user", [](const Job& j) { return j.user; }},
    {"workspace", [](const Job& j) { return j.workspace; }},
    {"priority", [](const Job& j) { return absl::StrCat(j.priority); }},
    {"weight", [](const Job& j) { return absl::StrCat(j.weight); }},
    {"max_run_time", [](const Job& j) { return j.max_run_time ? Seconds(*j.max_run_time) : ""; }},
    {"pool", [](const Job& j) { return j.pool; }},
    {"preemptible", [](const Job& j) { return std::string(j.preemptible ? "true" : "false"); }},
};
constexpr int kAlways = 3;  // the number of leading columns that every file has

}  // namespace

absl::StatusOr<Workload> ParseWorkload(std::string_view text, const std::string& name) {
  if (!base::IsUtf8(text)) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": is not UTF-8 text"));
  }
  Problems problems;
  Workload workload;
  const absl::string_view plain(text.data(), text.size());
  if (LooksLikeCsv(plain)) {
    workload = CsvReader(name, &problems).Read(plain);
  } else {
    DET_ASSIGN_OR_RETURN(workload, ReadYamlJobs(text, name, &problems));
  }
  DET_RETURN_IF_ERROR(problems.ToStatus());
  if (workload.empty()) return absl::InvalidArgumentError(absl::StrCat(name, ": has no jobs"));
  std::stable_sort(workload.begin(), workload.end(),
                   [](const Job& a, const Job& b) { return a.arrival < b.arrival; });
  return workload;
}

std::string ToCsv(const Workload& workload, std::string_view comment) {
  std::vector<const ColumnText*> columns;
  const Job standard;
  for (const ColumnText& column : kColumns) {
    const bool says = std::any_of(workload.begin(), workload.end(), [&](const Job& job) {
      return column.text(job) != column.text(standard);
    });
    if (says || &column < kColumns + kAlways) columns.push_back(&column);
  }
  std::string csv;
  if (!comment.empty()) {
    const absl::string_view lines(comment.data(), comment.size());
    absl::StrAppend(&csv, "# ", absl::StrJoin(absl::StrSplit(lines, '\n'), "\n# "), "\n");
  }
  const auto name = [](std::string* out, const ColumnText* c) { out->append(c->name); };
  absl::StrAppend(&csv, absl::StrJoin(columns, ",", name), "\n");
  for (const Job& job : workload) {
    const auto cell = [&](std::string* out, const ColumnText* c) { out->append(c->text(job)); };
    absl::StrAppend(&csv, absl::StrJoin(columns, ",", cell), "\n");
  }
  return csv;
}

}  // namespace det::simulate
