// What every list is asked with, looked at in one place: its window and its order.
//
// Called by rpc/call.cc for every request, on any thread. PURE.
#ifndef MASTER_API_COMMON_LIST_REQUEST_H_
#define MASTER_API_COMMON_LIST_REQUEST_H_

#include "absl/status/status.h"
#include <google/protobuf/message.h>

namespace det::api {

// INVALID_ARGUMENT for a limit below 0 and for an order or a sorting that has no name.
absl::Status CheckListing(const google::protobuf::Message& request);

}  // namespace det::api

#endif  // MASTER_API_COMMON_LIST_REQUEST_H_
