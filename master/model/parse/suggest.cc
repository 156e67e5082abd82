#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "master/model/parse/read.h"

namespace det::model {
namespace {

// Levenshtein's distance.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('.') + 1); }

}  // namespace

std::string Nearest(std::string_view name, const std::vector<std::string>& known, size_t edits) {
  std::string_view best;
  size_t distance = std::max(edits, name.size() / 4) + 1;
  for (const std::string& candidate : known) {
    const size_t d = EditDistance(name, candidate);
    if (d < distance && d < candidate.size()) {
      distance = d;
      best = candidate;
    }
  }
  return std::string(best);
}

std::string Suggest(const FieldTable& table, std::string_view name,
                    const std::vector<std::string>& known) {
  const std::string nearest = Nearest(name, known, 2);
  if (!nearest.empty()) return absl::StrCat("did you mean ", nearest, "?");
  // The right name at the wrong place.
  for (const Field& field : table.fields()) {
    if (field.role == Field::Role::kValue && LastPart(field.path) == name) {
      return absl::StrCat("did you mean ", field.path, "?");
    }
  }
  return absl::StrCat("known here: ", absl::StrJoin(known, ", "));
}

}  // namespace det::model
