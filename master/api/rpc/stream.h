// A server stream of one type of message: message_stream.h has what it does and who may call it.
//
// Made by a service's method.
#ifndef MASTER_API_RPC_STREAM_H_
#define MASTER_API_RPC_STREAM_H_

#include <functional>
#include <memory>
#include <utility>

#include "master/api/rpc/message_stream.h"

namespace det::api {

template <class Response>
class Stream final : public MessageStream {
 public:
  // Sends what it has by Send(), calls Close() when there will be no more. One run at a time.
  using Producer = std::function<void(Stream&)>;

  static std::shared_ptr<Stream> Make(base::ThreadPool* pool) {
    auto stream = std::shared_ptr<Stream>(new Stream(pool));
    stream->HoldSelf();
    return stream;
  }

  std::shared_ptr<Stream> shared_from_this() {
    return std::static_pointer_cast<Stream>(MessageStream::shared_from_this());
  }

  // Sets what runs at Wake() and what runs once the stream is over (both may hold references to it;
  // they are dropped then). At most once.
  void Start(Producer producer, std::function<void()> on_over) {
    AnyProducer any;
    if (producer) {
      any = [producer = std::move(producer)](MessageStream& stream) {
        producer(static_cast<Stream&>(stream));
      };
    }
    StartAny(std::move(any), std::move(on_over));
  }

  // False when nobody listens any more.
  bool Send(Response message) { return Send(std::make_shared<Response>(std::move(message))); }
  // One that other streams send, too. The same object: its bytes are then the same for all, and
  // what hangs on them need be done once (gateway/recent_json.h).
  bool Send(std::shared_ptr<const Response> message) { return SendAny(std::move(message)); }

 private:
  explicit Stream(base::ThreadPool* pool) : MessageStream(pool) {}
};

}  // namespace det::api

#endif  // MASTER_API_RPC_STREAM_H_
