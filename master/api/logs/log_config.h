// What of the master's configuration can change while it runs: how much it logs.
//
// Called by the master service on the pool.
#ifndef MASTER_API_LOGS_LOG_CONFIG_H_
#define MASTER_API_LOGS_LOG_CONFIG_H_

#include "absl/status/status.h"
#include "det/api/v1/master.pb.h"
#include "google/protobuf/struct.pb.h"

namespace det::api {

// INVALID_ARGUMENT, and nothing has changed, for what names no part of it, or no level;
// FAILED_PRECONDITION for what takes a new start.
absl::Status PatchLog(const v1::PatchMasterConfigRequest& request);

// Writes the level that holds now over the one that the master was started with.
void ShowLogLevel(google::protobuf::Struct* config);

}  // namespace det::api

#endif  // MASTER_API_LOGS_LOG_CONFIG_H_
