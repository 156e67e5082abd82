// The parameters that all list requests share: limit, offset and order.
//
// Existing clients know two kinds of lists, which differ in how they treat a window without rows:
//
//                        limit -1   limit -2   offset beyond the end   no limit
//   cut from a list      error      error      error                   all
//   read by a query      all        none       none                    all, or kDefaultPage rows
//
// CheckListRequest and CheckListResponse apply the rules to every method; a service only chooses
// between ToWindow and ToPage.
//
// Called by rpc/call.cc for every request and by services, on any thread. PURE.
#ifndef MASTER_API_COMMON_LIST_REQUEST_H_
#define MASTER_API_COMMON_LIST_REQUEST_H_

#include "absl/status/status.h"
#include "det/api/v1/common.pb.h"
#include "master/store/interfaces/window.h"
#include <google/protobuf/message.h>

namespace det::api {

// The number of rows that some lists return if the request has no limit.
inline constexpr int kDefaultPage = 100;

// Returns INVALID_ARGUMENT if the limit is negative and the list is not read by a query, or if the
// order or sort field has an unknown value.
absl::Status CheckListRequest(const google::protobuf::Message& request);

// Returns INVALID_ARGUMENT if the list is not read by a query, and the offset of the request is
// beyond the end of the list, whose length the response contains.
absl::Status CheckListResponse(const google::protobuf::Message& request,
                               const google::protobuf::Message& response);

// The window of a request, and the pagination of its response. `count`: elements in the response.
store::Window ToWindow(int offset, int limit);
v1::Pagination ToPagination(int offset, int limit, int count, int total);
// The same, except that without a limit the window has kDefaultPage rows.
store::Window ToPage(int offset, int limit);

}  // namespace det::api

#endif  // MASTER_API_COMMON_LIST_REQUEST_H_
