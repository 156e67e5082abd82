// What this cluster does not have, said to a client that asks for it.
#ifndef MASTER_API_RPC_UNSUPPORTED_H_
#define MASTER_API_RPC_UNSUPPORTED_H_

#include <string_view>

#include "absl/strings/str_cat.h"
#include "master/api/rpc/call.h"

namespace det::api {

// UNIMPLEMENTED: "this cluster " and `why`, which says what to do instead and outlives the call.
inline grpc::ServerUnaryReactor* Decline(const Edge& edge, grpc::CallbackServerContext* context,
                                         const google::protobuf::Message* request,
                                         std::string_view method, const char* why) {
  return UnaryNow(edge, context, request, method, [why](const auth::Principal&) {
    return absl::UnimplementedError(absl::StrCat("this cluster ", why));
  });
}

}  // namespace det::api

#endif  // MASTER_API_RPC_UNSUPPORTED_H_
