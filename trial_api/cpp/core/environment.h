// The variables of docs/task_environment.md. Read by the context and the launcher while they start.
#ifndef TRIAL_API_CPP_CORE_ENVIRONMENT_H_
#define TRIAL_API_CPP_CORE_ENVIRONMENT_H_

#include <cstdint>
#include <string>

#include "trial_api/cpp/core/ranks.h"

namespace det::core {

bool OnCluster();  // $DET_ALLOCATION_ID is set

std::string EnvOr(const char* name, const std::string& fallback);
// Throws Error naming the variable when it is missing, or no number.
std::string RequireEnv(const char* name);
int64_t EnvIntOr(const char* name, int64_t fallback);
int64_t RequireEnvInt(const char* name);

// One rank when $DET_SIZE is not set. Throws Error when the numbers do not fit together.
Ranks RanksFromEnvironment();

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_ENVIRONMENT_H_
