// A server stream that anybody may write to: messages queue up, one is on its way at a time. With a
// producer it pulls: that runs on the pool whenever the queue is empty and there may be more.
//
// Made by a service's override; lives until gRPC and its last holder are done with it. All methods
// on any thread; nothing but Close()'s `before` is called under its lock.
#ifndef MASTER_SERVICE_STREAM_H_
#define MASTER_SERVICE_STREAM_H_

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "base/thread_pool.h"
#include "master/service/call.h"
#include <grpcpp/grpcpp.h>

namespace det::service {

template <class Response>
class Stream final : public grpc::ServerWriteReactor<Response>,
                     public std::enable_shared_from_this<Stream<Response>> {
 public:
  // Sends what it has by Send(), calls Close() when there will be no more. One run at a time.
  using Producer = std::function<void(Stream&)>;

  static std::shared_ptr<Stream> Make(base::ThreadPool* pool) {
    auto stream = std::shared_ptr<Stream>(new Stream(pool));
    stream->self_ = stream;
    return stream;
  }

  // Sets what runs at Wake() and what runs once the stream is over (both may hold references to it;
  // they are dropped then). At most once.
  void Start(Producer producer, std::function<void()> on_over) {
    {
      std::lock_guard lock(mutex_);
      if (!over_) {
        producer_ = std::move(producer);
        on_over_ = std::exchange(on_over, nullptr);
      }
    }
    // The caller may have left before.
    if (on_over) on_over();
    Wake();
  }

  // Keeps `what` until the stream is over. At most once.
  void Hold(std::shared_ptr<void> what) {
    std::lock_guard lock(mutex_);
    if (!over_) held_ = std::move(what);
  }

  // Something may have changed: runs the producer soon. Many calls may become one run.
  void Wake() {
    std::lock_guard lock(mutex_);
    awake_ = true;
    MaybeProduce();
  }

  // False when nobody listens any more.
  bool Send(Response message) {
    std::lock_guard lock(mutex_);
    if (closed_ || canceled_) return false;
    queue_.push_back(std::move(message));
    MaybeWrite();
    return true;
  }

  // Ends the stream after what was sent. Later calls do nothing. `before` runs, under the lock, if
  // this call is what ends it: until then gRPC's context of the call is there.
  void Close(const absl::Status& status, const std::function<void()>& before = nullptr) {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    if (before) before();
    closed_ = status;
    MaybeWrite();
  }

  void OnWriteDone(bool ok) override {
    std::lock_guard lock(mutex_);
    writing_ = false;
    queue_.pop_front();
    if (!ok) Cancel();
    MaybeWrite();
    MaybeProduce();
  }
  void OnCancel() override {
    std::lock_guard lock(mutex_);
    Cancel();
    MaybeWrite();
  }
  void OnDone() override {
    Producer producer;
    std::function<void()> on_over;
    std::shared_ptr<Stream> self;
    std::shared_ptr<void> held;
    {
      std::lock_guard lock(mutex_);
      canceled_ = true;
      over_ = true;
      held = std::move(held_);
      producer = std::exchange(producer_, nullptr);
      on_over = std::exchange(on_over_, nullptr);
      self = std::move(self_);
    }
    if (on_over) on_over();
  }

 private:
  explicit Stream(base::ThreadPool* pool) : pool_(pool) {}

  // REQUIRES the lock.
  void Cancel() {
    canceled_ = true;
    if (!closed_) closed_ = absl::CancelledError("the caller has gone");
    // The message on its way stays until gRPC has let go of it.
    while (queue_.size() > (writing_ ? 1 : 0)) queue_.pop_back();
  }

  // REQUIRES the lock.
  void MaybeWrite() {
    if (writing_ || finished_) return;
    if (!queue_.empty()) {
      writing_ = true;
      this->StartWrite(&queue_.front());
    } else if (closed_) {
      finished_ = true;
      this->Finish(ToGrpc(*closed_));
    }
  }

  // REQUIRES the lock.
  void MaybeProduce() {
    if (!awake_ || producing_ || closed_ || canceled_ || !queue_.empty() || !producer_) return;
    awake_ = false;
    producing_ = true;
    pool_->Post([self = this->shared_from_this(), producer = producer_] {
      producer(*self);
      std::lock_guard lock(self->mutex_);
      self->producing_ = false;
      self->MaybeProduce();
    });
  }

  base::ThreadPool* const pool_;
  std::mutex mutex_;
  std::shared_ptr<Stream> self_;  // held for gRPC until OnDone
  Producer producer_;
  std::function<void()> on_over_;
  std::shared_ptr<void> held_;
  std::deque<Response> queue_;
  std::optional<absl::Status> closed_;
  bool writing_ = false;
  bool finished_ = false;
  bool canceled_ = false;
  bool awake_ = false;
  bool producing_ = false;
  bool over_ = false;
};

}  // namespace det::service

#endif  // MASTER_SERVICE_STREAM_H_
