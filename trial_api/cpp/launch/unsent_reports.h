// Sends reports that the ranks of this node could not send before they ended: a rank that was
// killed while the master was unavailable leaves them behind, and the trial may have no further run
// on this node.
#ifndef TRIAL_API_CPP_LAUNCH_UNSENT_REPORTS_H_
#define TRIAL_API_CPP_LAUNCH_UNSENT_REPORTS_H_

#include "trial_api/cpp/core/trial_client.h"
#include "trial_api/cpp/launch/signals.h"

namespace det::launch {

// Sends the reports; waits for the master up to the timeout of `client`. Reports that cannot be
// sent are left for the trial's next attempt on this node, with a warning on stderr. REQUIRES that
// no rank of this node is running. Throws Stopped.
void SendUnsentReports(const core::TrialClient::Options& client, Signals& signals);

}  // namespace det::launch

#endif  // TRIAL_API_CPP_LAUNCH_UNSENT_REPORTS_H_
