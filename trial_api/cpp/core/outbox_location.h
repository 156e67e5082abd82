// The location of a run's outbox on the node of its chief, and the name under which a trial owns
// files. Used by the context, which writes reports, and by the launcher, which sends the remaining
// ones.
#ifndef TRIAL_API_CPP_CORE_OUTBOX_LOCATION_H_
#define TRIAL_API_CPP_CORE_OUTBOX_LOCATION_H_

#include <string>

#include "trial_api/cpp/core/outbox.h"

namespace det::core {

// Returns a name that is unique among trials of all clusters: "<cluster>-trial-<number>".
std::string GetTrialOwner(int trial);

// Returns the options of a run's outbox: $DET_CACHE_DIR/outbox/<owner>/<run>, with at most
// $DET_OUTBOX_LIMIT bytes.
Outbox::Options GetOutboxOptions(const std::string& owner, int run);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_OUTBOX_LOCATION_H_
