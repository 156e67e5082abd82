#include "master/api/rpc/message_stream.h"

#include <utility>

namespace det::api {

MessageStream::MessageStream(base::ThreadPool* pool) : pool_(pool) {}

MessageStream::~MessageStream() = default;

void MessageStream::HoldSelf() { self_ = shared_from_this(); }

void MessageStream::StartAny(AnyProducer producer, std::function<void()> on_end) {
  {
    std::lock_guard lock(mutex_);
    if (!ended_) {
      producer_ = std::move(producer);
      on_end_ = std::exchange(on_end, nullptr);
    }
  }
  // The client may have disconnected before.
  if (on_end) on_end();
  Wake();
}

void MessageStream::Hold(std::shared_ptr<void> what) {
  std::lock_guard lock(mutex_);
  if (!ended_) held_ = std::move(what);
}

void MessageStream::Wake() {
  std::lock_guard lock(mutex_);
  awake_ = true;
  MaybeProduce();
}

bool MessageStream::SendAny(std::shared_ptr<const google::protobuf::Message> message) {
  std::lock_guard lock(mutex_);
  if (closed_ || canceled_) return false;
  queue_.push_back(std::move(message));
  MaybeWrite();
  return true;
}

void MessageStream::Close(const absl::Status& status, const std::function<void()>& before) {
  std::lock_guard lock(mutex_);
  if (closed_) return;
  if (before) before();
  closed_ = status;
  MaybeWrite();
}

void MessageStream::OnWriteDone(bool ok) {
  std::lock_guard lock(mutex_);
  writing_ = false;
  if (!ok) Cancel();
  MaybeWrite();
  MaybeProduce();
}

void MessageStream::OnCancel() {
  std::lock_guard lock(mutex_);
  Cancel();
  MaybeWrite();
}

void MessageStream::OnDone() {
  AnyProducer producer;
  std::function<void()> on_end;
  std::shared_ptr<MessageStream> self;
  std::shared_ptr<void> held;
  {
    std::lock_guard lock(mutex_);
    canceled_ = true;
    ended_ = true;
    held = std::move(held_);
    producer = std::exchange(producer_, nullptr);
    on_end = std::exchange(on_end_, nullptr);
    self = std::move(self_);
  }
  if (on_end) on_end();
}

void MessageStream::Cancel() {
  canceled_ = true;
  if (!closed_) closed_ = absl::CancelledError("the client disconnected");
  // The message that is being written belongs to gRPC's side until OnWriteDone().
  queue_.clear();
}

void MessageStream::MaybeWrite() {
  if (writing_ || finished_) return;
  if (!queue_.empty()) {
    writing_ = true;
    auto next = std::move(queue_.front());
    queue_.pop_front();
    Write(std::move(next));
  } else if (closed_) {
    finished_ = true;
    Finish(*closed_);
  }
}

void MessageStream::MaybeProduce() {
  if (!awake_ || producing_ || writing_ || closed_ || canceled_ || !queue_.empty() || !producer_) {
    return;
  }
  awake_ = false;
  producing_ = true;
  pool_->Post([self = shared_from_this(), producer = producer_] {
    producer(*self);
    std::lock_guard lock(self->mutex_);
    self->producing_ = false;
    self->MaybeProduce();
  });
}

}  // namespace det::api
