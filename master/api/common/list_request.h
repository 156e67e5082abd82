// Checks the parameters that all list requests share: limit and order.
//
// Called by rpc/call.cc for every request, on any thread. PURE.
#ifndef MASTER_API_COMMON_LIST_REQUEST_H_
#define MASTER_API_COMMON_LIST_REQUEST_H_

#include "absl/status/status.h"
#include <google/protobuf/message.h>

namespace det::api {

// Returns INVALID_ARGUMENT if the limit is negative, or if the order or sort field has an unknown
// value.
absl::Status CheckListRequest(const google::protobuf::Message& request);

}  // namespace det::api

#endif  // MASTER_API_COMMON_LIST_REQUEST_H_
