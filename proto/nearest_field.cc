#include "proto/nearest_field.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "google/protobuf/descriptor.h"

namespace det::proto {
namespace {

// How many letters are to be added, removed or replaced.
size_t EditsBetween(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t corner = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = corner + (a[i - 1] == b[j - 1] ? 0 : 1);
      corner = row[j];
      row[j] = std::min({replaced, corner + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string NearestField(const google::protobuf::Descriptor& type, std::string_view name) {
  std::string nearest;
  size_t least = std::string::npos;
  for (int i = 0; i < type.field_count(); ++i) {
    const size_t edits = EditsBetween(name, type.field(i)->json_name());
    if (edits >= least) continue;
    least = edits;
    nearest = type.field(i)->json_name();
  }
  return nearest;
}

}  // namespace det::proto
