// Calls of unary methods by name within the process, without gRPC's transport.
//
// For each .proto file with services, generate_unary_methods.cc generates a header with the suffix
// .unary.h, which specializes UnaryMethods for each of the services.
#ifndef PROTO_UNARY_METHODS_H_
#define PROTO_UNARY_METHODS_H_

#include <map>
#include <string_view>

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

namespace det::proto {

// Calls the method of `service`, which must be the generated callback service of the method.
// Request and response must be of the method's types. The reactor that the method returns is
// dropped: the implementation must end the call by other means (api/rpc/local_call.h).
using UnaryMethod = void (*)(grpc::Service& service, grpc::CallbackServerContext& context,
                             const google::protobuf::Message& request,
                             google::protobuf::Message& response);

// `Generated` is the class that gRPC generates for a service: v1::TokenService.
template <class Generated>
struct UnaryMethods {
  // Returns the methods with their names: "GetAccessTokens".
  static std::map<std::string_view, UnaryMethod> Get();
};

}  // namespace det::proto

#endif  // PROTO_UNARY_METHODS_H_
