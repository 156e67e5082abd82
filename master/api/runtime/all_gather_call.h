// A rank that waits in an all-gather, as a call of gRPC's: one that notices when its caller has
// gone, and then gives the rank's place free.
#ifndef MASTER_API_RUNTIME_ALL_GATHER_CALL_H_
#define MASTER_API_RUNTIME_ALL_GATHER_CALL_H_

#include "absl/functional/any_invocable.h"
#include "det/trial/v1/trial.pb.h"
#include "master/api/rpc/call.h"
#include "master/api/runtime/all_gather.h"

namespace det::api {

// Joins once `admit` has told that the caller may; it is called at once and may tell on any thread.
// All must live until the call is over.
grpc::ServerUnaryReactor* JoinGather(AllGather* all_gather,
                                     const det::trial::v1::AllGatherRequest* request,
                                     det::trial::v1::AllGatherResponse* response,
                                     absl::AnyInvocable<void(Done)> admit);

}  // namespace det::api

#endif  // MASTER_API_RUNTIME_ALL_GATHER_CALL_H_
