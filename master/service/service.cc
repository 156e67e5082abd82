#include "master/service/service.h"

#include <list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "master/service/outgoing.h"
#include "master/service/stream_writer.h"
#include <google/protobuf/descriptor.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>

namespace det::service {
namespace {

using google::protobuf::Message;

// Null: what came is no such message.
std::unique_ptr<Message> Parse(grpc::ByteBuffer bytes, const Message& prototype) {
  std::unique_ptr<Message> message(prototype.New());
  const grpc::Status status =
      grpc::GenericDeserialize<grpc::ProtoBufferReader, google::protobuf::MessageLite>(
          &bytes, message.get());
  return status.ok() ? std::move(message) : nullptr;
}

grpc::Status NotA(const Message& prototype) {
  return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                      absl::StrCat("the body is not a ", prototype.GetTypeName(),
                                   "; is the client's interface of this version?"));
}

// Ends the stream at once.
class RefusedStream final : public grpc::ServerWriteReactor<Outgoing> {
 public:
  explicit RefusedStream(const grpc::Status& why) { Finish(why); }
  void OnDone() override { delete this; }
};

}  // namespace

class Service::Registered final : public grpc::Service {
 public:
  void Add(const std::string& path, grpc::internal::RpcMethod::RpcType type,
           grpc::internal::MethodHandler* handler) {
    paths_.push_back(path);  // gRPC keeps the pointer
    AddMethod(new grpc::internal::RpcServiceMethod(paths_.back().c_str(), type, nullptr));
    MarkMethodRawCallback(static_cast<int>(paths_.size()) - 1, handler);
  }

 private:
  std::list<std::string> paths_;
};

Service::Service(const char* name) : name_(name), registered_(std::make_unique<Registered>()) {
  DET_CHECK(google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name_) != nullptr)
      << name_;
}

Service::~Service() = default;

grpc::Service* Service::registered() { return registered_.get(); }

void Service::AddUnary(const char* method, const Message& request, const Message& response,
                       UnaryCall call) {
  auto handler = [&request, &response, call = std::move(call)](
                     grpc::CallbackServerContext* context, const grpc::ByteBuffer* bytes,
                     Outgoing* answer) -> grpc::ServerUnaryReactor* {
    answer->message.reset(response.New());
    answer->request = Parse(*bytes, request);
    if (answer->request) return call(context, *answer->request, answer->message.get());
    grpc::ServerUnaryReactor* refused = context->DefaultReactor();
    refused->Finish(NotA(request));
    return refused;
  };
  registered_->Add(
      absl::StrCat("/", name_, "/", method), grpc::internal::RpcMethod::NORMAL_RPC,
      new grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer, Outgoing>(std::move(handler)));
}

void Service::AddStream(const char* method, const Message& request, StreamCall call) {
  auto handler = [&request, call = std::move(call)](
                     grpc::CallbackServerContext* context,
                     const grpc::ByteBuffer* bytes) -> grpc::ServerWriteReactor<Outgoing>* {
    const std::unique_ptr<Message> asked = Parse(*bytes, request);
    if (!asked) return new RefusedStream(NotA(request));
    return &call(context, *asked)->writer();
  };
  registered_->Add(absl::StrCat("/", name_, "/", method),
                   grpc::internal::RpcMethod::SERVER_STREAMING,
                   new grpc::internal::CallbackServerStreamingHandler<grpc::ByteBuffer, Outgoing>(
                       std::move(handler)));
}

}  // namespace det::service
