// The pipeline that every call passes through: authorization, a check of list parameters,
// idempotency, then the method's own work on a thread that may block, and at the end counters, log
// and audit record.
//
// CallPipeline is used by api_service.h, which each service extends. All methods may be called on
// any thread.
#ifndef MASTER_API_RPC_CALL_H_
#define MASTER_API_RPC_CALL_H_

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/thread_pool.h"
#include "master/api/audit/audit_trail.h"
#include "master/api/authz/authorizer.h"
#include "master/api/idempotency/idempotency_store.h"
#include "master/auth/permissions.h"
#include "master/core/cluster/event.h"
#include "master/engine/engine.h"
#include <google/protobuf/message.h>

namespace grpc {
class CallbackServerContext;
class ServerUnaryReactor;
class Status;
}  // namespace grpc

namespace det::api {

class MessageStream;

grpc::Status ToGrpc(const absl::Status& status);

// The metadata of a call.
struct CallHead {
  Credentials credentials;
  std::string request_id;       // the caller's, or a new one
  std::string idempotency_key;  // the caller's, if any
  std::string peer;             // the address, if the gateway or gRPC knows it
};

// Reads the metadata, and adds the request's id to the trailing metadata of the response. Must be
// called once, before the call can end.
CallHead ReadCallHead(grpc::CallbackServerContext& context);

// The Accept header of a call that came by HTTP; empty without one.
std::string GetAcceptHeader(const grpc::CallbackServerContext& context);

// Ends a call; must be called once, on any thread.
using Done = absl::AnyInvocable<void(absl::Status)>;

class CallPipeline;

// One unary call. Lives until it has ended: a method may keep a reference until it calls its Done.
class Call {
 public:
  // Who makes the call.
  const auth::Principal& principal() const { return principal_; }

  // Sets the caller of a call without a token: a login. The audit record names this principal.
  void SetPrincipal(const auth::Principal& principal) { principal_ = principal; }

  // Logs and audits the result of one part of the call ("run 7"). Must be called before Done.
  void RecordPart(const std::string& target, const absl::Status& status) const;

  // Runs `callback` when the caller cancels the call or disconnects, at once if that has happened.
  // Must be called at most once. For methods that wait for something.
  void OnCancel(absl::AnyInvocable<void()> callback);

 private:
  friend class CallPipeline;
  class Reactor;

  Call(CallPipeline& pipeline, const google::protobuf::Message& request,
       google::protobuf::Message* response, const auth::Requirement& method, CallHead head);
  void NotifyCanceled();
  // Records the result and ends the call. Must be called once.
  void End(const absl::Status& status);

  CallPipeline& pipeline_;
  const google::protobuf::Message& request_;
  google::protobuf::Message* const response_;
  const auth::Requirement& method_;
  const CallHead head_;
  auth::Principal principal_;  // also of a refused call if its token identifies the caller
  std::optional<IdempotencyStore::Request> idempotent_;
  Done end_;  // sends the response

  std::mutex mutex_;
  bool canceled_ = false;
  absl::AnyInvocable<void()> on_cancel_;
};

// Calls change the cluster in one of two ways; `done` is called after the commit in both.

// Submits `event` and ends the call with its result.
void SubmitAndFinish(engine::Engine& engine, cluster::Event event, Done done);

// Submits `event` for a call that has more to do after the commit. An error of the event ends the
// call; otherwise `next` runs on the engine's loop, where it must not block, and ends the call by
// its Done.
using AfterCommit = absl::AnyInvocable<void(const engine::Applied& applied, Done done)>;
void SubmitAndContinue(engine::Engine& engine, cluster::Event event, AfterCommit next, Done done);

class CallPipeline {
 public:
  // All must outlive the pipeline.
  struct Parts {
    Authorizer* authorizer = nullptr;
    IdempotencyStore* idempotency = nullptr;
    AuditTrail* audit = nullptr;       // may be null
    base::ThreadPool* pool = nullptr;  // runs the methods, which may block
    const base::Clock* clock = nullptr;
    // Called after each unary call, on any thread; may be null.
    std::function<void(absl::StatusCode)> on_call;
  };
  explicit CallPipeline(Parts parts) : parts_(std::move(parts)) {}

  using Work = absl::AnyInvocable<void(Call& call, Done done)>;
  using StreamWork = absl::AnyInvocable<void(const auth::Principal& principal)>;

  // Authorizes the caller and runs `work` on the pool. `method` must outlive the pipeline; request
  // and response live until the call has ended.
  grpc::ServerUnaryReactor* RunUnary(grpc::CallbackServerContext* context,
                                     const google::protobuf::Message& request,
                                     google::protobuf::Message* response,
                                     const auth::Requirement& method, Work work);

  // Runs `work` at once on gRPC's thread, without authorization: for health checks, which must be
  // answered while all threads of the pool wait. `work` must not block.
  grpc::ServerUnaryReactor* RunInline(grpc::CallbackServerContext* context,
                                      absl::AnyInvocable<void(Done done)> work);

  // Authorizes the caller of a streaming method and runs `open` on the pool, or closes the stream.
  void RunStream(grpc::CallbackServerContext* context, const google::protobuf::Message& request,
                 const auth::Requirement& method, std::shared_ptr<MessageStream> stream,
                 StreamWork open);

  base::ThreadPool& pool() const { return *parts_.pool; }

 private:
  friend class Call;

  void Start(const std::shared_ptr<Call>& call, Work work);
  // Whether the work must run; otherwise the call has ended.
  bool BeginIdempotent(Call& call);
  void RecordEnd(const Call& call, const absl::Status& status);
  void RecordChange(const Call& call, const std::string& target, const absl::Status& status);

  const Parts parts_;
};

}  // namespace det::api

#endif  // MASTER_API_RPC_CALL_H_
