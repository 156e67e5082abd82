// gRPC's side of a MessageStream. For service.cc and message_stream.cc alone.
#ifndef MASTER_API_RPC_STREAM_WRITER_H_
#define MASTER_API_RPC_STREAM_WRITER_H_

#include <memory>
#include <utility>

#include "master/api/rpc/call.h"
#include "master/api/rpc/message_stream.h"
#include "master/api/rpc/outgoing.h"

namespace det::api {

// Tells the stream what becomes of what it writes; part of it, gone with it.
class MessageStream::Writer final : public grpc::ServerWriteReactor<Outgoing> {
 public:
  explicit Writer(MessageStream* stream) : stream_(*stream) {}

  // One at a time: again after OnWriteDone.
  void Write(std::shared_ptr<const google::protobuf::Message> message) {
    outgoing_.message = std::move(message);
    StartWrite(&outgoing_);
  }

  void OnWriteDone(bool ok) override { stream_.OnWriteDone(ok); }
  void OnCancel() override { stream_.OnCancel(); }
  void OnDone() override { stream_.OnDone(); }

 private:
  MessageStream& stream_;
  Outgoing outgoing_;
};

}  // namespace det::api

#endif  // MASTER_API_RPC_STREAM_WRITER_H_
