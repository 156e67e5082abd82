// A server stream of one type of message; message_stream.h describes its behaviour and threads.
//
// Created by ApiService::ServerStream().
#ifndef MASTER_API_RPC_STREAM_H_
#define MASTER_API_RPC_STREAM_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/message_stream.h"
#include <grpcpp/grpcpp.h>

namespace det::api {

template <class Response>
class Stream final : public MessageStream {
 public:
  // Sends what it has with Send(), and calls Close() when there will be no more. One run at a time.
  using Producer = std::function<void(Stream&)>;

  static std::shared_ptr<Stream> Make(base::ThreadPool* pool) {
    auto stream = std::shared_ptr<Stream>(new Stream(pool));
    stream->HoldSelf();
    return stream;
  }

  std::shared_ptr<Stream> shared_from_this() {
    return std::static_pointer_cast<Stream>(MessageStream::shared_from_this());
  }

  // Sets what runs at Wake() and what runs once the stream has ended (both may hold references to
  // it; they are released then). At most once.
  void Start(Producer producer, std::function<void()> on_end) {
    AnyProducer any;
    if (producer) {
      any = [producer = std::move(producer)](MessageStream& stream) {
        producer(static_cast<Stream&>(stream));
      };
    }
    StartAny(std::move(any), std::move(on_end));
  }

  // Returns false if the client has disconnected or the stream is closed.
  bool Send(Response message) { return Send(std::make_shared<Response>(std::move(message))); }
  // For a message that several streams send. It must be the same object: its bytes are then the
  // same in all of them, and the gateway converts it once (gateway/json_cache.h).
  bool Send(std::shared_ptr<const Response> message) { return SendAny(std::move(message)); }

  // What a method returns to gRPC.
  grpc::ServerWriteReactor<Response>* reactor() { return &reactor_; }

 private:
  // gRPC's side of the stream; a part of it, so that both are released together.
  class Reactor final : public grpc::ServerWriteReactor<Response> {
   public:
    explicit Reactor(Stream* stream) : stream_(*stream) {}
    void Write(std::shared_ptr<const google::protobuf::Message> message) {
      writing_ = std::move(message);
      this->StartWrite(static_cast<const Response*>(writing_.get()));
    }
    void OnWriteDone(bool ok) override { stream_.OnWriteDone(ok); }
    void OnCancel() override { stream_.OnCancel(); }
    void OnDone() override { stream_.OnDone(); }

   private:
    Stream& stream_;
    std::shared_ptr<const google::protobuf::Message> writing_;
  };

  explicit Stream(base::ThreadPool* pool) : MessageStream(pool), reactor_(this) {}
  void Write(std::shared_ptr<const google::protobuf::Message> message) override {
    reactor_.Write(std::move(message));
  }
  void Finish(const absl::Status& status) override { reactor_.Finish(ToGrpc(status)); }

  Reactor reactor_;
};

}  // namespace det::api

#endif  // MASTER_API_RPC_STREAM_H_
