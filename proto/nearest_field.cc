#include "proto/nearest_field.h"

#include "base/edit_distance.h"
#include "google/protobuf/descriptor.h"

namespace det::proto {
std::string NearestField(const google::protobuf::Descriptor& type, std::string_view name) {
  std::string nearest;
  size_t least = std::string::npos;
  for (int i = 0; i < type.field_count(); ++i) {
    const size_t edits = base::EditDistance(name, type.field(i)->json_name());
    if (edits >= least) continue;
    least = edits;
    nearest = type.field(i)->json_name();
  }
  return nearest;
}

}  // namespace det::proto
