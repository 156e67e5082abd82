// The base of every service of the API: gRPC's generated callback service, whose methods pass
// through the call pipeline. Include the generated .unary.h of the service's .proto file, which
// contains the service.
//
//   class TokenService final : public ApiService<v1::TokenService> {
//    public:
//     TokenService(CallPipeline& calls, store::Store& store) : ApiService(calls), store_(store) {}
//
//     grpc::ServerUnaryReactor* GetAccessTokens(grpc::CallbackServerContext* context,
//                                               const v1::GetAccessTokensRequest* request,
//                                               v1::GetAccessTokensResponse* response) override {
//       return Unary(__func__, context, request, response,
//                    [this, request, response](const auth::Principal& principal) -> absl::Status {
//                      ...
//                    });
//     }
//
// gRPC calls the methods on its threads; their work runs on the pipeline's pool.
#ifndef MASTER_API_RPC_API_SERVICE_H_
#define MASTER_API_RPC_API_SERVICE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/strings/str_cat.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/api/rpc/stream.h"
#include <grpcpp/grpcpp.h>

namespace det::api {

// The methods of a service, with what each requires of its caller. Made once, when the service is
// constructed, so that a call looks its method up once.
class ServiceMethods {
 public:
  // Ends the process if a method of the service lacks the option det.access, which declares who may
  // call it.
  explicit ServiceMethods(const std::string& service);

  // `name`: "GetTrial". Ends the process if the service has no such method.
  const auth::Requirement& Get(std::string_view name) const;

 private:
  std::map<std::string, auth::Requirement, std::less<>> requirements_;
};

// `Generated` is the class that gRPC generates for the service: v1::TokenService.
template <class Generated>
class ApiService : public Service, public Generated::CallbackService {
 public:
  std::string name() const final { return Generated::service_full_name(); }
  grpc::Service* grpc_service() final { return this; }
  std::map<std::string_view, proto::UnaryMethod> unary_methods() const final {
    return proto::UnaryMethods<Generated>::Get();
  }

 protected:
  explicit ApiService(CallPipeline& calls)
      : calls_(calls), methods_(Generated::service_full_name()) {}

  // The one way to declare a unary method. `method` is its name, __func__ in the method itself.
  // `work` is one of
  //   absl::Status(const auth::Principal&)        for work that has ended when it returns
  //   void(const auth::Principal&, Done)          for work that ends later
  //   void(Call&, Done)                           for work that needs more of the call
  // Request and response live until the call has ended. If the method is idempotent and the caller
  // sends an Idempotency-Key, a repeated request gets the stored response and `work` does not run.
  template <class Work>
  grpc::ServerUnaryReactor* Unary(const char* method, grpc::CallbackServerContext* context,
                                  const google::protobuf::Message* request,
                                  google::protobuf::Message* response, Work work) {
    CallPipeline::Work adapted;
    if constexpr (std::is_invocable_v<Work&, Call&, Done>) {
      adapted = std::move(work);
    } else if constexpr (std::is_invocable_v<Work&, const auth::Principal&, Done>) {
      adapted = [work = std::move(work)](Call& call, Done done) mutable {
        work(call.principal(), std::move(done));
      };
    } else {
      adapted = [work = std::move(work)](Call& call, Done done) mutable {
        done(work(call.principal()));
      };
    }
    return calls_.RunUnary(context, *request, response, methods_.Get(method), std::move(adapted));
  }

  // The one way to declare a method that streams its response: `open` gets the authorized caller
  // and the stream.
  template <class Response>
  grpc::ServerWriteReactor<Response>* ServerStream(
      const char* method, grpc::CallbackServerContext* context,
      const google::protobuf::Message* request,
      absl::AnyInvocable<void(const auth::Principal&, std::shared_ptr<Stream<Response>>)> open) {
    std::shared_ptr<Stream<Response>> stream = Stream<Response>::Make(&calls_.pool());
    calls_.RunStream(context, *request, methods_.Get(method), stream,
                     [stream, open = std::move(open)](const auth::Principal& principal) mutable {
                       open(principal, std::move(stream));
                     });
    return stream->reactor();
  }

  // Declares a method of a feature that this cluster does not have. The call fails with
  // UNIMPLEMENTED "this cluster <why>". `why` contains what to do instead; it must outlive the
  // call.
  grpc::ServerUnaryReactor* Unsupported(const char* method, grpc::CallbackServerContext* context,
                                        const google::protobuf::Message* request,
                                        google::protobuf::Message* response, const char* why) {
    return Unary(method, context, request, response, [why](const auth::Principal&) {
      return absl::UnimplementedError(absl::StrCat("this cluster ", why));
    });
  }

  CallPipeline& calls() const { return calls_; }
  // "det.api.v1.TokenService.GetAccessTokens"
  static std::string FullName(const char* method) {
    return absl::StrCat(Generated::service_full_name(), ".", method);
  }

 private:
  CallPipeline& calls_;
  const ServiceMethods methods_;
};

}  // namespace det::api

#endif  // MASTER_API_RPC_API_SERVICE_H_
