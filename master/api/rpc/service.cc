#include "master/api/rpc/service.h"

#include <list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/outgoing.h"
#include "master/api/rpc/stream_writer.h"
#include <google/protobuf/descriptor.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>

namespace det::api {
namespace {

using google::protobuf::Message;

// Null: what came is no such message. gRPC keeps the bytes until the call is over, but nobody reads
// them again: they are let go of here.
std::unique_ptr<Message> Parse(const grpc::ByteBuffer* kept, const Message& prototype) {
  std::unique_ptr<Message> message(prototype.New());
  grpc::ByteBuffer bytes;
  bytes.Swap(const_cast<grpc::ByteBuffer*>(kept));
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

const google::protobuf::ServiceDescriptor& DescriptionOf(const std::string& service) {
  const auto* found =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(service);
  DET_CHECK(found != nullptr) << service;
  return *found;
}

// What the description says of a method that a service serves must be what the service takes.
void CheckMethod(const std::string& service, const char* name, const Message& request,
                 const Message* response) {
  const auto* method = DescriptionOf(service).FindMethodByName(name);
  DET_CHECK(method != nullptr) << service << " has no " << name;
  DET_CHECK(method->input_type() == request.GetDescriptor()) << method->full_name();
  DET_CHECK(method->server_streaming() == (response == nullptr)) << method->full_name();
  DET_CHECK(response == nullptr || method->output_type() == response->GetDescriptor())
      << method->full_name();
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

  int count() const { return static_cast<int>(paths_.size()); }

 private:
  std::list<std::string> paths_;
};

Service::Service(const char* name) : name_(name), registered_(std::make_unique<Registered>()) {
  DescriptionOf(name_);
}

Service::~Service() = default;

grpc::Service* Service::registered() {
  DET_CHECK(DescriptionOf(name_).method_count() == registered_->count())
      << name_ << " leaves out methods";
  return registered_.get();
}

void Service::AddUnary(const char* method, const Message& request, const Message& response,
                       UnaryCall call) {
  CheckMethod(name_, method, request, &response);
  auto handler = [&request, &response, call = std::move(call)](
                     grpc::CallbackServerContext* context, const grpc::ByteBuffer* bytes,
                     Outgoing* answer) -> grpc::ServerUnaryReactor* {
    Message* const made = response.New();
    answer->message.reset(made);
    answer->request = Parse(bytes, request);
    if (answer->request) return call(context, *answer->request, made);
    HeadOf(*context);  // also this answer has its request's id
    grpc::ServerUnaryReactor* refused = context->DefaultReactor();
    refused->Finish(NotA(request));
    return refused;
  };
  registered_->Add(
      absl::StrCat("/", name_, "/", method), grpc::internal::RpcMethod::NORMAL_RPC,
      new grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer, Outgoing>(std::move(handler)));
}

void Service::AddStream(const char* method, const Message& request, StreamCall call) {
  CheckMethod(name_, method, request, nullptr);
  auto handler = [&request, call = std::move(call)](
                     grpc::CallbackServerContext* context,
                     const grpc::ByteBuffer* bytes) -> grpc::ServerWriteReactor<Outgoing>* {
    const std::unique_ptr<Message> asked = Parse(bytes, request);
    if (!asked) {
      HeadOf(*context);
      return new RefusedStream(NotA(request));
    }
    return &call(context, *asked)->writer();
  };
  registered_->Add(absl::StrCat("/", name_, "/", method),
                   grpc::internal::RpcMethod::SERVER_STREAMING,
                   new grpc::internal::CallbackServerStreamingHandler<grpc::ByteBuffer, Outgoing>(
                       std::move(handler)));
}

}  // namespace det::api
