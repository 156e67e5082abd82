// What this cluster does not have, said to a client that asks for it.
#ifndef MASTER_SERVICE_DECLINE_H_
#define MASTER_SERVICE_DECLINE_H_

#include <string_view>

#include "absl/strings/str_cat.h"
#include "master/service/call.h"

namespace det::service {

// UNIMPLEMENTED: "this cluster " and `why`, which says what to do instead and outlives the call.
inline grpc::ServerUnaryReactor* Decline(const Edge& edge, grpc::CallbackServerContext* context,
                                         const google::protobuf::Message* request,
                                         std::string_view method, const char* why) {
  return UnaryNow(edge, context, request, method, [why](const auth::Principal&) {
    return absl::UnimplementedError(absl::StrCat("this cluster ", why));
  });
}

}  // namespace det::service

#endif  // MASTER_SERVICE_DECLINE_H_
