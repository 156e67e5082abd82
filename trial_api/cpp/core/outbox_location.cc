#include "trial_api/cpp/core/outbox_location.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "trial_api/cpp/core/environment.h"

namespace det::core {

std::string GetTrialOwner(int trial) {
  return EnvOr("DET_CLUSTER_ID", "cluster") + "-trial-" + std::to_string(trial);
}

Outbox::Options GetOutboxOptions(const std::string& owner, int run) {
  Outbox::Options options;
  options.dir = EnvOr("DET_CACHE_DIR", EnvOr("DET_RUN_DIR", ".")) + "/outbox/" + owner + "/" +
                std::to_string(run);
  options.limit = EnvIntOr("DET_OUTBOX_LIMIT", options.limit);
  options.segment = std::min(options.segment, std::max<int64_t>(options.limit / 4, 1));
  return options;
}

}  // namespace det::core
