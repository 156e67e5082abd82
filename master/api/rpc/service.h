// The interface of a gRPC service of the API for the program that registers it; api_service.h
// implements it.
#ifndef MASTER_API_RPC_SERVICE_H_
#define MASTER_API_RPC_SERVICE_H_

#include <map>
#include <string>
#include <string_view>

#include "proto/unary_methods.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace det::api {

class Service {
 public:
  virtual ~Service() = default;

  // "det.api.v1.TokenService"
  virtual std::string name() const = 0;

  // What a server registers; this object must outlive the server.
  virtual grpc::Service* grpc_service() = 0;

  // The unary methods by name: "GetAccessTokens".
  virtual std::map<std::string_view, proto::UnaryMethod> unary_methods() const = 0;
};

}  // namespace det::api

#endif  // MASTER_API_RPC_SERVICE_H_
