// Whose the environment variables of a task are: names that begin with DET_ are the cluster's own,
// but for a few settings (docs/task_environment.md). On any thread. PURE.
#ifndef MASTER_CORE_MODEL_VARIABLES_H_
#define MASTER_CORE_MODEL_VARIABLES_H_

#include <algorithm>
#include <array>
#include <string_view>

namespace det::model {

// Those of the DET_ names that are the user's to set.
inline constexpr std::array<const char*, 5> kUsersVariables = {
    "DET_CXX", "DET_CXXFLAGS", "DET_LDFLAGS", "DET_MASTER_PATIENCE", "DET_OUTBOX_LIMIT"};

// The name in an entry NAME=value of environment.environment_variables.
inline std::string_view VariableName(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

// Whether a task is given it as the user says.
inline bool IsUsersVariable(std::string_view name) {
  return !name.starts_with("DET_") ||
         std::find(kUsersVariables.begin(), kUsersVariables.end(), name) != kUsersVariables.end();
}

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_VARIABLES_H_
