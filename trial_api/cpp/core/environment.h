// Reads the variables of docs/task_environment.md. Used by the context and the launcher when they
// start.
#ifndef TRIAL_API_CPP_CORE_ENVIRONMENT_H_
#define TRIAL_API_CPP_CORE_ENVIRONMENT_H_

#include <cstdint>
#include <string>

#include "trial_api/cpp/core/ranks.h"

namespace det::core {

bool OnCluster();  // $DET_ALLOCATION_ID is set

std::string EnvOr(const char* name, const std::string& fallback);
// Return the value of a variable. Throw Error with the variable's name if it is missing, or not a
// number.
std::string RequireEnv(const char* name);
int64_t EnvIntOr(const char* name, int64_t fallback);
int64_t RequireEnvInt(const char* name);

// Returns one rank if $DET_SIZE is not set. Throws Error if the numbers are inconsistent.
Ranks RanksFromEnvironment();

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_ENVIRONMENT_H_
