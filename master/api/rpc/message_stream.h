// A server stream of messages that anybody may write to: they queue up, one is on its way at a
// time. With a producer it pulls: that runs on the pool whenever the queue is empty and there may
// be more. Stream<Response> of stream.h is what services use.
//
// Lives until gRPC and its last holder are done with it. All methods on any thread; nothing but
// Close()'s `before` is called under its lock.
#ifndef MASTER_API_RPC_MESSAGE_STREAM_H_
#define MASTER_API_RPC_MESSAGE_STREAM_H_

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/status/status.h"
#include "base/thread_pool.h"
#include <google/protobuf/message.h>

namespace det::api {

class MessageStream : public std::enable_shared_from_this<MessageStream> {
 public:
  // gRPC's side of it, in message_stream.cc.
  class Writer;

  virtual ~MessageStream();

  // Keeps `what` until the stream is over. At most once.
  void Hold(std::shared_ptr<void> what);

  // Something may have changed: runs the producer soon. Many calls may become one run.
  void Wake();

  // Ends the stream after what was sent. Later calls do nothing. `before` runs, under the lock, if
  // this call is what ends it: until then gRPC's context of the call is there.
  void Close(const absl::Status& status, const std::function<void()>& before = nullptr);

  // For service.cc, which gives it to gRPC.
  Writer& writer() { return *writer_; }

 protected:
  using AnyProducer = std::function<void(MessageStream&)>;

  explicit MessageStream(base::ThreadPool* pool);
  // From now until it is over it holds itself, for gRPC.
  void HoldSelf();
  void StartAny(AnyProducer producer, std::function<void()> on_over);
  bool SendAny(std::shared_ptr<const google::protobuf::Message> message);

 private:
  void OnWriteDone(bool ok);
  void OnCancel();
  void OnDone();
  // These REQUIRE the lock.
  void Cancel();
  void MaybeWrite();
  void MaybeProduce();

  base::ThreadPool* const pool_;
  const std::unique_ptr<Writer> writer_;
  std::mutex mutex_;
  std::shared_ptr<MessageStream> self_;
  AnyProducer producer_;
  std::function<void()> on_over_;
  std::shared_ptr<void> held_;
  std::deque<std::shared_ptr<const google::protobuf::Message>> queue_;
  std::optional<absl::Status> closed_;
  bool writing_ = false;
  bool finished_ = false;
  bool canceled_ = false;
  bool awake_ = false;
  bool producing_ = false;
  bool over_ = false;
};

}  // namespace det::api

#endif  // MASTER_API_RPC_MESSAGE_STREAM_H_
