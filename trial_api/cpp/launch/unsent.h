// What the ranks of this node have reported, but not sent before they ended: a rank that was killed
// while the master was away leaves it behind, and the trial may have no further run here.
#ifndef TRIAL_API_CPP_LAUNCH_UNSENT_H_
#define TRIAL_API_CPP_LAUNCH_UNSENT_H_

#include "trial_api/cpp/core/trial_client.h"
#include "trial_api/cpp/launch/signals.h"

namespace det::launch {

// Sends it; waits for a master that is away as long as `client` is patient. What cannot be sent stays
// for the trial's next run on this node, with a warning on stderr. REQUIRES that no rank of this
// node runs. Throws Stopped.
void SendUnsent(const core::TrialClient::Options& client, Signals& signals);

}  // namespace det::launch

#endif  // TRIAL_API_CPP_LAUNCH_UNSENT_H_
