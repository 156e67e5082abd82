// A gRPC service made by hand: its methods are named one by one, as member functions, and found in
// the service's description. What is gRPC's own lies in service.cc, so that a service's source
// reads neither gRPC's headers nor generated service classes (which cost ten seconds to compile
// each).
//
//   class TokenService final : public Service {
//    public:
//     TokenService() : Service("det.api.v1.TokenService") {
//       Serve("GetAccessTokens", &TokenService::GetAccessTokens);
//     }
//     grpc::ServerUnaryReactor* GetAccessTokens(grpc::CallbackServerContext* context,
//                                               const v1::GetAccessTokensRequest* request,
//                                               v1::GetAccessTokensResponse* response);
//
// Methods are called on gRPC's threads; request and response live until the call is over (of a
// stream, the request until the method returns). Must outlive the server that it is registered
// with.
#ifndef MASTER_API_RPC_SERVICE_H_
#define MASTER_API_RPC_SERVICE_H_

#include <functional>
#include <memory>
#include <string>

#include "master/api/rpc/message_stream.h"
#include <google/protobuf/message.h>

namespace grpc {
class CallbackServerContext;
class ServerUnaryReactor;
class Service;
}  // namespace grpc

namespace det::api {

class Service {
 public:
  virtual ~Service();

  // "det.api.v1.TokenService"
  const std::string& name() const { return name_; }
  // What a server registers. A method of the description that is not served is UNIMPLEMENTED.
  grpc::Service* registered();

 protected:
  // `name`: of a service that is linked into this program.
  explicit Service(const char* name);

  template <class Self, class Request, class Response>
  void Serve(const char* method,
             grpc::ServerUnaryReactor* (Self::*call)(grpc::CallbackServerContext*, const Request*,
                                                     Response*)) {
    AddUnary(method, Request::default_instance(), Response::default_instance(),
             [self = static_cast<Self*>(this), call](grpc::CallbackServerContext* context,
                                                     const google::protobuf::Message& request,
                                                     google::protobuf::Message* response) {
               return (self->*call)(context, static_cast<const Request*>(&request),
                                    static_cast<Response*>(response));
             });
  }
  template <class Self, class Request>
  void Serve(const char* method,
             MessageStream* (Self::*call)(grpc::CallbackServerContext*, const Request*)) {
    AddStream(method, Request::default_instance(),
              [self = static_cast<Self*>(this), call](grpc::CallbackServerContext* context,
                                                      const google::protobuf::Message& request) {
                return (self->*call)(context, static_cast<const Request*>(&request));
              });
  }

 private:
  class Registered;
  using UnaryCall = std::function<grpc::ServerUnaryReactor*(
      grpc::CallbackServerContext*, const google::protobuf::Message&, google::protobuf::Message*)>;
  using StreamCall =
      std::function<MessageStream*(grpc::CallbackServerContext*, const google::protobuf::Message&)>;

  void AddUnary(const char* method, const google::protobuf::Message& request,
                const google::protobuf::Message& response, UnaryCall call);
  void AddStream(const char* method, const google::protobuf::Message& request, StreamCall call);

  const std::string name_;
  const std::unique_ptr<Registered> registered_;
};

}  // namespace det::api

#endif  // MASTER_API_RPC_SERVICE_H_
