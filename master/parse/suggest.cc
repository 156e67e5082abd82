#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/edit_distance.h"
#include "master/parse/read.h"

namespace det::model {
namespace {

std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('.') + 1); }

}  // namespace

std::string Nearest(std::string_view name, const std::vector<std::string>& known, size_t edits) {
  std::string_view best;
  size_t distance = std::max(edits, name.size() / 4) + 1;
  for (const std::string& candidate : known) {
    const size_t d = base::EditDistance(name, candidate);
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
  // The name of a field of another section.
  for (const Field& field : table.fields()) {
    if (field.role == Field::Role::kValue && LastPart(field.path) == name) {
      return absl::StrCat("did you mean ", field.path, "?");
    }
  }
  return absl::StrCat("expected one of ", absl::StrJoin(known, ", "));
}

}  // namespace det::model
