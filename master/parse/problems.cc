#include "master/parse/problems.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace det::model {
namespace {

// The line of "const.yaml:12"; 0 where it has none.
int LineOf(const std::string& where) {
  int line = 0;
  const size_t colon = where.rfind(':');
  if (colon == std::string::npos || !absl::SimpleAtoi(where.substr(colon + 1), &line)) return 0;
  return line;
}

}  // namespace

std::vector<std::string> ToLines(std::vector<Problem> problems) {
  std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
    return LineOf(a.where) < LineOf(b.where);
  });
  std::vector<std::string> lines;
  for (const Problem& problem : problems) {
    lines.push_back(absl::StrCat(problem.where, ": ", problem.path, ": ", problem.text));
  }
  return lines;
}

absl::Status ToStatus(std::vector<Problem> problems) {
  if (problems.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(ToLines(std::move(problems)), "\n"));
}

absl::Status CheckIsMap(const ConfigNode& root, const std::string& source) {
  if (root.is_map() || root.is_null()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      source, ": expected a map such as \"searcher: {name: single}\", found ", root.Describe()));
}

}  // namespace det::model
