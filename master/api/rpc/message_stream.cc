#include "master/api/rpc/message_stream.h"

#include <utility>

#include "master/api/rpc/stream_writer.h"

namespace det::api {

MessageStream::MessageStream(base::ThreadPool* pool)
    : pool_(pool), writer_(std::make_unique<Writer>(this)) {}

MessageStream::~MessageStream() = default;

void MessageStream::HoldSelf() { self_ = shared_from_this(); }

void MessageStream::StartAny(AnyProducer producer, std::function<void()> on_over) {
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

void MessageStream::Hold(std::shared_ptr<void> what) {
  std::lock_guard lock(mutex_);
  if (!over_) held_ = std::move(what);
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
  std::function<void()> on_over;
  std::shared_ptr<MessageStream> self;
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

void MessageStream::Cancel() {
  canceled_ = true;
  if (!closed_) closed_ = absl::CancelledError("the caller has gone");
  // The message on its way is the writer's, until gRPC has let go of it.
  queue_.clear();
}

void MessageStream::MaybeWrite() {
  if (writing_ || finished_) return;
  if (!queue_.empty()) {
    writing_ = true;
    auto next = std::move(queue_.front());
    queue_.pop_front();
    writer_->Write(std::move(next));
  } else if (closed_) {
    finished_ = true;
    writer_->Finish(ToGrpc(*closed_));
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
