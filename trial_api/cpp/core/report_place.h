// Where the reports of a run wait for the master on the node of its chief, and what belongs to a
// trial is called. Of the context, which writes there, and the launcher, which sends what is left.
#ifndef TRIAL_API_CPP_CORE_REPORT_PLACE_H_
#define TRIAL_API_CPP_CORE_REPORT_PLACE_H_

#include <string>

#include "trial_api/cpp/core/outbox.h"

namespace det::core {

// A name that no other trial has, of this cluster or another: "<cluster>-trial-<number>".
std::string OwnerOfTrial(int trial);

// Beside those of the trial's other runs: $DET_CACHE_DIR/outbox/<owner>/<run>, of at most
// $DET_OUTBOX_LIMIT bytes.
Outbox::Options OutboxOfRun(const std::string& owner, int run);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_REPORT_PLACE_H_
