// The stream on which a master sends orders to an agent and receives reports.
#ifndef AGENT_LINK_CONTROL_STREAM_H_
#define AGENT_LINK_CONTROL_STREAM_H_

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "agent/link/calls.h"
#include "det/agent/v1/agent.grpc.pb.h"
#include <grpcpp/grpcpp.h>

namespace det::agent {

// One control stream. Used on the loop. Pending operations keep it alive.
class ControlStream final : public std::enable_shared_from_this<ControlStream> {
 public:
  using OnMessage = std::function<void(const v1::MasterMessage&)>;
  using OnEnd = std::function<void(const absl::Status&)>;

  ControlStream(const std::shared_ptr<PendingCalls>& calls, OnMessage on_message, OnEnd on_end)
      : context_(calls), on_message_(std::move(on_message)), on_end_(std::move(on_end)) {}

  CallContext& context() { return context_; }

  void Start(v1::AgentHub::Stub& stub, grpc::CompletionQueue* queue, v1::AgentMessage first) {
    outgoing_.push_back(std::move(first));
    call_ = stub.PrepareAsyncConnect(&*context_, queue);
    call_->StartCall(Completions::Tag([self = shared_from_this()](bool ok) {
      if (!ok) return self->Finish();
      self->ReadNext();
      self->WriteNext();
    }));
  }

  void Write(v1::AgentMessage message) {
    outgoing_.push_back(std::move(message));
    if (reading_ && !writing_) WriteNext();
  }

 private:
  void ReadNext() {
    reading_ = true;
    call_->Read(&incoming_, Completions::Tag([self = shared_from_this()](bool ok) {
      self->reading_ = ok;
      if (!ok) return self->FinishOnce();
      self->on_message_(self->incoming_);
      self->ReadNext();
    }));
  }

  void WriteNext() {
    if (outgoing_.empty()) return;
    writing_ = true;
    call_->Write(outgoing_.front(), Completions::Tag([self = shared_from_this()](bool ok) {
                   self->writing_ = false;
                   self->outgoing_.pop_front();
                   // After a failed write, the pending read fails too.
                   if (!self->reading_) return self->FinishOnce();
                   if (ok) self->WriteNext();
                 }));
  }

  // Finishes once neither a read nor a write is pending.
  void FinishOnce() {
    if (!reading_ && !writing_) Finish();
  }

  void Finish() {
    call_->Finish(&status_, Completions::Tag([self = shared_from_this()](bool) {
      // An orderly end by the master is treated like a broken stream.
      self->on_end_(self->status_.ok() ? absl::UnavailableError("the master ended the stream")
                                       : ToStatus(self->status_));
    }));
  }

  CallContext context_;
  const OnMessage on_message_;
  const OnEnd on_end_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::AgentMessage, v1::MasterMessage>> call_;
  v1::MasterMessage incoming_;
  std::deque<v1::AgentMessage> outgoing_;  // the first one is being written if writing_
  bool reading_ = false;
  bool writing_ = false;
  grpc::Status status_;
};

}  // namespace det::agent

#endif  // AGENT_LINK_CONTROL_STREAM_H_
