// A message of any type as gRPC writes it. For service.cc and message_stream.cc alone: it brings
// gRPC's headers.
#ifndef MASTER_API_RPC_OUTGOING_H_
#define MASTER_API_RPC_OUTGOING_H_

#include <memory>

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

namespace det::api {

// The answer of a unary call, with the request, which lives as long; or a message of a stream,
// which many streams may send.
struct Outgoing {
  std::unique_ptr<google::protobuf::Message> request;
  std::shared_ptr<const google::protobuf::Message> message;
};

}  // namespace det::api

template <>
class grpc::SerializationTraits<det::api::Outgoing> {
 public:
  static Status Serialize(const det::api::Outgoing& outgoing, ByteBuffer* bytes, bool* own_buffer) {
    return GenericSerialize<ProtoBufferWriter, google::protobuf::MessageLite>(*outgoing.message,
                                                                              bytes, own_buffer);
  }
};

#endif  // MASTER_API_RPC_OUTGOING_H_
