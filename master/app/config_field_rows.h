// Helpers of the files that define the table of fields. Private to these files.
#ifndef MASTER_APP_CONFIG_FIELD_ROWS_H_
#define MASTER_APP_CONFIG_FIELD_ROWS_H_

#include <vector>

#include "master/core/model/field_table.h"

namespace det::app {

constexpr model::Field Removed(const char* path, const char* text) {
  return {.path = path, .description = text, .role = model::Field::Role::kRemoved};
}
constexpr model::Field WithoutEffect(const char* path, const char* why) {
  return {.path = path,
          .description = "Deprecated; ignored.",
          .role = model::Field::Role::kIgnored,
          .warning = why};
}

inline constexpr char kComputePool[] = "was renamed; write default_compute_resource_pool";
inline constexpr char kAuxPool[] = "was renamed; write default_aux_resource_pool";

// Fields of pools, quotas, topology and scheduling.
std::vector<model::Field> ResourceFields();

}  // namespace det::app

#endif  // MASTER_APP_CONFIG_FIELD_ROWS_H_
