#include "trial_api/cpp/core/environment.h"

#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"
#include "trial_api/cpp/core/error.h"

namespace det::core {
namespace {

int64_t ToInt(const char* name, const std::string& text) {
  int64_t value = 0;
  if (absl::SimpleAtoi(text, &value)) return value;
  throw Error("$" + std::string(name) + " is '" + text + "', not a number");
}

}  // namespace

bool OnCluster() { return std::getenv("DET_ALLOCATION_ID") != nullptr; }

std::string EnvOr(const char* name, const std::string& fallback) {
  const char* const value = std::getenv(name);
  return value == nullptr ? fallback : value;
}

std::string RequireEnv(const char* name) {
  if (const char* const value = std::getenv(name)) return value;
  throw Error("$" + std::string(name) + " is not set; start this program with resolute-launch");
}

int64_t EnvIntOr(const char* name, int64_t fallback) {
  const char* const value = std::getenv(name);
  return value == nullptr ? fallback : ToInt(name, value);
}

int64_t RequireEnvInt(const char* name) { return ToInt(name, RequireEnv(name)); }

Ranks RanksFromEnvironment() {
  Ranks ranks;
  ranks.size = static_cast<int>(EnvIntOr("DET_SIZE", 1));
  ranks.rank = static_cast<int>(EnvIntOr("DET_RANK", 0));
  ranks.local_size = static_cast<int>(EnvIntOr("DET_LOCAL_SIZE", ranks.size));
  ranks.local_rank = static_cast<int>(EnvIntOr("DET_LOCAL_RANK", ranks.rank));
  ranks.cross_size = static_cast<int>(EnvIntOr("DET_CROSS_SIZE", 1));
  ranks.cross_rank = static_cast<int>(EnvIntOr("DET_CROSS_RANK", 0));
  const bool fits = 0 <= ranks.rank && ranks.rank < ranks.size && 0 <= ranks.local_rank &&
                    ranks.local_rank < ranks.local_size && ranks.local_size <= ranks.size &&
                    0 <= ranks.cross_rank && ranks.cross_rank < ranks.cross_size;
  if (!fits) {
    throw Error("$DET_RANK " + std::to_string(ranks.rank) + " of $DET_SIZE " +
                std::to_string(ranks.size) +
                " is not a valid rank; start this program with resolute-launch");
  }
  return ranks;
}

}  // namespace det::core
