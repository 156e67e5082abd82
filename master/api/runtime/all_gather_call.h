// A rank that waits in an all-gather; if its caller disconnects, it gives up its place.
#ifndef MASTER_API_RUNTIME_ALL_GATHER_CALL_H_
#define MASTER_API_RUNTIME_ALL_GATHER_CALL_H_

#include "det/trial/v1/trial.pb.h"
#include "master/api/rpc/call.h"
#include "master/api/runtime/all_gather.h"

namespace det::api {

// Ends the call once all ranks have joined. All arguments must live until then.
void JoinAllGather(AllGather& all_gather, Call& call,
                   const det::trial::v1::AllGatherRequest& request,
                   det::trial::v1::AllGatherResponse* response, Done done);

}  // namespace det::api

#endif  // MASTER_API_RUNTIME_ALL_GATHER_CALL_H_
