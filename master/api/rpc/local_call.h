// Unary calls from within the process: the gateway's calls for HTTP requests. They take the same
// path through CallPipeline as calls by gRPC, without its transport, which costs more than most
// methods.
//
// Any thread.
#ifndef MASTER_API_RPC_LOCAL_CALL_H_
#define MASTER_API_RPC_LOCAL_CALL_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "proto/unary_methods.h"
#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

namespace det::proto {
class WrittenParts;
}  // namespace det::proto

namespace det::api {

// The context of a call within the process. CallPipeline recognizes it and ends the call by
// `done` instead of a reactor.
class LocalContext final : public grpc::CallbackServerContext {
 public:
  LocalContext(CallHead call_head, std::shared_ptr<proto::WrittenParts> parts)
      : head(std::move(call_head)), written(std::move(parts)) {}

  CallHead head;
  // Where the service may put parts of the response as JSON; null if the caller needs the message.
  const std::shared_ptr<proto::WrittenParts> written;
  Done done;
  // The pipeline sets it before the call starts.
  std::function<void()> cancel;
};

// Returns where a service may put parts of the response as JSON instead of filling their messages;
// null: nowhere, the response is not written as JSON.
std::shared_ptr<proto::WrittenParts> GetWrittenParts(const grpc::CallbackServerContext& context);

class LocalCalls {
 public:
  // `services` must outlive it.
  explicit LocalCalls(const std::vector<std::unique_ptr<Service>>& services);

  // Calls `method` ("det.api.v1.TrialService.GetTrial"); UNIMPLEMENTED if no service has it as a
  // unary method. Request and response must be of its types; they live until `done` is called, on
  // any thread. Parts of the response may be in `written` instead, unless that is null. The
  // returned function cancels the call; it may be called at any time, also after the end.
  std::function<void()> Start(std::string_view method,
                              std::shared_ptr<const google::protobuf::Message> request,
                              std::shared_ptr<google::protobuf::Message> response,
                              std::shared_ptr<proto::WrittenParts> written, CallHead head,
                              Done done) const;

 private:
  struct Method {
    grpc::Service* service = nullptr;
    proto::UnaryMethod call = nullptr;
  };
  std::map<std::string, Method, std::less<>> methods_;
};

}  // namespace det::api

#endif  // MASTER_API_RPC_LOCAL_CALL_H_
