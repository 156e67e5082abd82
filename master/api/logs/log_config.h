// The part of the master's configuration that can change while it is running: the log level.
//
// Called by the master service on the pool.
#ifndef MASTER_API_LOGS_LOG_CONFIG_H_
#define MASTER_API_LOGS_LOG_CONFIG_H_

#include "absl/status/status.h"
#include "det/api/v1/master.pb.h"
#include "google/protobuf/struct.pb.h"

namespace det::api {

// Applies the requested log level. Returns INVALID_ARGUMENT for an unknown field or level, and
// FAILED_PRECONDITION for colored logs, which are not supported; changes nothing then.
absl::Status PatchLog(const v1::PatchMasterConfigRequest& request);

// Sets log.level of `config`, which has the level at start, to the current level.
void ShowLogLevel(google::protobuf::Struct* config);

}  // namespace det::api

#endif  // MASTER_API_LOGS_LOG_CONFIG_H_
