// The workloads of a trial: its training reports, validations and checkpoints as one list.
#ifndef MASTER_API_TRIALS_TRIAL_WORKLOADS_H_
#define MASTER_API_TRIALS_TRIAL_WORKLOADS_H_

#include "absl/status/status.h"
#include "det/api/v1/trial.pb.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// Reads the store; blocks. Returns NOT_FOUND if the trial does not exist.
absl::Status ListWorkloads(store::Store& store, const v1::GetTrialWorkloadsRequest& request,
                           v1::GetTrialWorkloadsResponse* response);

}  // namespace det::api

#endif  // MASTER_API_TRIALS_TRIAL_WORKLOADS_H_
