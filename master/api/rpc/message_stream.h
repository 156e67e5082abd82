// A server stream of messages that any thread may write to: they queue up, and one is written at a
// time. A stream with a producer pulls: the producer runs on the pool whenever the queue is empty
// and there may be more. Services use Stream<Response> of stream.h.
//
// Lives until gRPC and its last holder have released it. All methods may be called on any thread;
// only the `before` of Close() runs under its lock.
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
  virtual ~MessageStream();

  // Keeps `what` until the stream has ended. At most once.
  void Hold(std::shared_ptr<void> what);

  // Runs the producer soon, because something may have changed. Many calls may become one run.
  void Wake();

  // Ends the stream after the messages that were sent. Later calls do nothing. `before` runs under
  // the lock if this call is the one that ends the stream: until then gRPC's context exists.
  void Close(const absl::Status& status, const std::function<void()>& before = nullptr);

 protected:
  using AnyProducer = std::function<void(MessageStream&)>;

  explicit MessageStream(base::ThreadPool* pool);
  // Keeps the stream alive for gRPC until it has ended.
  void HoldSelf();
  void StartAny(AnyProducer producer, std::function<void()> on_end);
  bool SendAny(std::shared_ptr<const google::protobuf::Message> message);

  // gRPC's side, under the lock. Write() is called again only after OnWriteDone().
  virtual void Write(std::shared_ptr<const google::protobuf::Message> message) = 0;
  virtual void Finish(const absl::Status& status) = 0;
  // What gRPC reports.
  void OnWriteDone(bool ok);
  void OnCancel();
  void OnDone();

 private:
  // These REQUIRE the lock.
  void Cancel();
  void MaybeWrite();
  void MaybeProduce();

  base::ThreadPool* const pool_;
  std::mutex mutex_;
  std::shared_ptr<MessageStream> self_;
  AnyProducer producer_;
  std::function<void()> on_end_;
  std::shared_ptr<void> held_;
  std::deque<std::shared_ptr<const google::protobuf::Message>> queue_;
  std::optional<absl::Status> closed_;
  bool writing_ = false;
  bool finished_ = false;
  bool canceled_ = false;
  bool awake_ = false;
  bool producing_ = false;
  bool ended_ = false;
};

}  // namespace det::api

#endif  // MASTER_API_RPC_MESSAGE_STREAM_H_
