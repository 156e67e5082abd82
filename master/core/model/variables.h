// Which environment variables of a task users may set: names that begin with DET_ are reserved for
// the cluster, except a few settings (docs/task_environment.md). On any thread. PURE.
#ifndef MASTER_CORE_MODEL_VARIABLES_H_
#define MASTER_CORE_MODEL_VARIABLES_H_

#include <algorithm>
#include <array>
#include <string_view>

namespace det::model {

// The DET_ variables that users may set.
inline constexpr std::array<const char*, 7> kUserVariables = {"DET_CXX",
                                                              "DET_CXXFLAGS",
                                                              "DET_LDFLAGS",
                                                              "DET_LOG_LEVEL",
                                                              "DET_MASTER_PATIENCE",
                                                              "DET_OUTBOX_LIMIT",
                                                              "DET_PYTHON_EXECUTABLE"};

// Returns the name of an entry NAME=value of environment.environment_variables.
inline std::string_view VariableName(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

// Whether users may set the variable.
inline bool IsUserVariable(std::string_view name) {
  return !name.starts_with("DET_") ||
         std::find(kUserVariables.begin(), kUserVariables.end(), name) != kUserVariables.end();
}

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_VARIABLES_H_
