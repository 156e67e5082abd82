// What the files of the master's table of fields share. Private to those files.
#ifndef MASTER_APP_CONFIG_FIELD_ROWS_H_
#define MASTER_APP_CONFIG_FIELD_ROWS_H_

#include <vector>

#include "master/core/model/field_table.h"

namespace det::app {

constexpr model::Field Gone(const char* path, const char* words) {
  return {.path = path, .description = words, .role = model::Field::Role::kGone};
}
constexpr model::Field WithoutEffect(const char* path, const char* why) {
  return {.path = path,
          .description = "Of older files.",
          .role = model::Field::Role::kIgnored,
          .warning = why};
}

inline constexpr char kNotYet[] = "this master does not do it yet; remove it";

// Pools, quotas, topology, and by which rules slots are given out.
std::vector<model::Field> ResourceFields();

}  // namespace det::app

#endif  // MASTER_APP_CONFIG_FIELD_ROWS_H_
