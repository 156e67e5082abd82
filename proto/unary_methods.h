// The unary methods of the public API, for calls from within the process, without gRPC's transport.
// The table is generated from the descriptors of the API (generate_unary_methods.cc).
//
// Any thread.
#ifndef PROTO_UNARY_METHODS_H_
#define PROTO_UNARY_METHODS_H_

#include <string_view>
#include <unordered_map>

namespace google::protobuf {
class Message;
}  // namespace google::protobuf
namespace grpc {
class CallbackServerContext;
class Service;
}  // namespace grpc

namespace det::proto {

// Calls the method of `service`, which must be the generated callback service of the method.
// Request and response must be of the method's types. The reactor that the method returns is
// dropped: the implementation must end the call by other means (api/rpc/local_call.h).
using UnaryMethod = void (*)(grpc::Service& service, grpc::CallbackServerContext& context,
                             const google::protobuf::Message& request,
                             google::protobuf::Message& response);

// By full name: "det.api.v1.TrialService.GetTrial".
const std::unordered_map<std::string_view, UnaryMethod>& GetUnaryMethods();

}  // namespace det::proto

#endif  // PROTO_UNARY_METHODS_H_
