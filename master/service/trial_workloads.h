// What a trial has trained, validated and saved, as one list.
#ifndef MASTER_SERVICE_TRIAL_WORKLOADS_H_
#define MASTER_SERVICE_TRIAL_WORKLOADS_H_

#include "absl/status/status.h"
#include "det/api/v1/trial.pb.h"
#include "master/store/store.h"

namespace det::service {

// Reads the store; on a thread that may block. NOT_FOUND for an unknown trial.
absl::Status ListWorkloads(store::Store& store,
                           const det::api::v1::GetTrialWorkloadsRequest& request,
                           det::api::v1::GetTrialWorkloadsResponse* response);

}  // namespace det::service

#endif  // MASTER_SERVICE_TRIAL_WORKLOADS_H_
