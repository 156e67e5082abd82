// The gRPC calls of a master link: where they complete, and how they are cancelled.
#ifndef AGENT_LINK_CALLS_H_
#define AGENT_LINK_CALLS_H_

#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "base/event_loop.h"
#include <grpcpp/grpcpp.h>

namespace det::agent {

inline absl::Status ToStatus(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

// Receives gRPC's completions on a thread that sleeps until there is one, and posts each to the
// loop, or runs it on that thread if there is no loop. (The callback interface would need no such
// thread, but gRPC 1.51 then keeps several threads that wake up every second.)
class Completions {
 public:
  using Function = absl::AnyInvocable<void(bool ok)>;

  explicit Completions(base::EventLoop* loop) : loop_(loop), thread_([this] { Run(); }) {}

  grpc::CompletionQueue* queue() { return &queue_; }

  // Returns a tag for an operation. `fn` runs when the operation has completed; it is destroyed
  // afterwards.
  static void* Tag(Function fn) { return new Function(std::move(fn)); }

  // Waits for all operations. REQUIRES that no new ones are started.
  void Close() {
    queue_.Shutdown();
    thread_.join();
  }

 private:
  void Run() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
      std::unique_ptr<Function> fn(static_cast<Function*>(tag));
      if (loop_ == nullptr) {
        (*fn)(ok);
      } else {
        loop_->Post([fn = std::move(fn), ok] { (*fn)(ok); });
      }
    }
  }

  base::EventLoop* const loop_;  // may be null
  grpc::CompletionQueue queue_;
  std::thread thread_;
};

// The pending calls, so that Close can cancel them. Any thread.
class PendingCalls {
 public:
  // Returns false once closed: the call must not be started then.
  bool Begin(grpc::ClientContext* context) {
    std::lock_guard lock(mutex_);
    if (!closed_) contexts_.insert(context);
    return !closed_;
  }
  void End(grpc::ClientContext* context) {
    std::lock_guard lock(mutex_);
    contexts_.erase(context);
  }
  void Cancel() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    for (grpc::ClientContext* context : contexts_) context->TryCancel();
  }

 private:
  std::mutex mutex_;
  bool closed_ = false;
  std::set<grpc::ClientContext*> contexts_;
};

// A context that is registered as a pending call while it exists. It may outlive the link, because
// functions that the loop has not run are destroyed with the loop.
class CallContext {
 public:
  explicit CallContext(const std::shared_ptr<PendingCalls>& calls)
      : calls_(calls), open_(calls->Begin(&context_)) {}
  CallContext(const CallContext&) = delete;
  CallContext& operator=(const CallContext&) = delete;
  ~CallContext() { calls_->End(&context_); }

  bool open() const { return open_; }
  grpc::ClientContext& operator*() { return context_; }
  grpc::ClientContext* operator->() { return &context_; }

 private:
  const std::shared_ptr<PendingCalls> calls_;
  grpc::ClientContext context_;
  const bool open_;
};

}  // namespace det::agent

#endif  // AGENT_LINK_CALLS_H_
