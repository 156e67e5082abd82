// The one door of every unary method: who is asking, may they, then the work, on a thread that may
// block. And absl::Status as gRPC's.
//
// Called by the services' methods on gRPC's threads.
#ifndef MASTER_API_RPC_CALL_H_
#define MASTER_API_RPC_CALL_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/api/rpc/edge.h"
#include "master/auth/permissions.h"
#include <google/protobuf/message.h>

namespace grpc {
class CallbackServerContext;
class ServerUnaryReactor;
class Status;
}  // namespace grpc

namespace det::api {

grpc::Status ToGrpc(const absl::Status& status);

// What a call says beside its message.
struct CallHead {
  std::string authorization;  // the header, empty without one
  std::string request_id;     // the caller's, or made here
  std::string key;            // the caller's idempotency key, if any
  std::string peer;           // the address, where the gateway or gRPC knows it
};
// Also puts the request's id into the answer; to be called once, before the call can end.
CallHead HeadOf(grpc::CallbackServerContext& context);

// The Accept header of a call by HTTP; empty without one.
std::string AcceptOf(const grpc::CallbackServerContext& context);

// For a call that comes too early: when it may come again, into the answer. While the call lasts.
void SayWhen(const absl::Status& refusal, grpc::CallbackServerContext* context);

// For each call that has ended, once: counts it; its line in the log, if it changes something or
// failed by our fault; its audit record. `response` may be null.
void NoteEnd(const Edge& edge, std::string_view method, const CallHead& head,
             const absl::StatusOr<auth::Principal>& principal,
             const google::protobuf::Message& request, const google::protobuf::Message* response,
             const absl::Status& status);

// Ends the call; to be called once, on any thread.
using Done = absl::AnyInvocable<void(absl::Status)>;

// Admits the caller to `method` ("det.api.v1.TrialService.GetTrial") and runs `work` on the pool.
// Request and response live until `done` is called.
grpc::ServerUnaryReactor* Unary(
    const Edge& edge, grpc::CallbackServerContext* context,
    const google::protobuf::Message* request, std::string_view method,
    absl::AnyInvocable<void(const auth::Principal& principal, Done done)> work);

// Tells the log and the audit what became of a part of the call: "run 7". Before the call's `done`.
using NotePart = std::function<void(const std::string& target, const absl::Status& status)>;
// As Unary(), for what does something to many, each by itself.
grpc::ServerUnaryReactor* UnaryOfParts(
    const Edge& edge, grpc::CallbackServerContext* context,
    const google::protobuf::Message* request, std::string_view method,
    absl::AnyInvocable<void(const auth::Principal& principal, NotePart note, Done done)> work);

// Says who the caller is, of whom the token says nothing: the record is of theirs. Before `done`.
using SayWho = std::function<void(const auth::Principal& caller)>;
// As Unary(), for what finds out who is asking: a login.
grpc::ServerUnaryReactor* UnaryNaming(const Edge& edge, grpc::CallbackServerContext* context,
                                      const google::protobuf::Message* request,
                                      std::string_view method,
                                      absl::AnyInvocable<void(SayWho say_who, Done done)> work);

// That a call's caller has gone. Any thread.
class Departure {
 public:
  // Runs `then` when that happens, at once if it has. To be called once, at most.
  void Then(absl::AnyInvocable<void()> then);
  void Tell();

 private:
  std::mutex mutex_;
  bool told_ = false;
  absl::AnyInvocable<void()> then_;
};
// As Unary(), for what waits for something to happen: it is to end when its caller has gone.
grpc::ServerUnaryReactor* UnaryWaiting(
    const Edge& edge, grpc::CallbackServerContext* context,
    const google::protobuf::Message* request, std::string_view method,
    absl::AnyInvocable<void(const auth::Principal& principal, Departure& departure, Done done)>
        work);

// As Unary(), for work that has ended when it returns.
grpc::ServerUnaryReactor* UnaryNow(
    const Edge& edge, grpc::CallbackServerContext* context,
    const google::protobuf::Message* request, std::string_view method,
    absl::AnyInvocable<absl::Status(const auth::Principal& principal)> work);

// Both for a method that makes something (Requirement::makes): under an idempotency key it is done
// once, and a repetition gets the first answer, which is read from `response`. The others refuse
// keys for such a method.
grpc::ServerUnaryReactor* UnaryOnce(
    const Edge& edge, grpc::CallbackServerContext* context,
    const google::protobuf::Message* request, google::protobuf::Message* response,
    std::string_view method,
    absl::AnyInvocable<void(const auth::Principal& principal, Done done)> work);
grpc::ServerUnaryReactor* UnaryOnceNow(
    const Edge& edge, grpc::CallbackServerContext* context,
    const google::protobuf::Message* request, google::protobuf::Message* response,
    std::string_view method,
    absl::AnyInvocable<absl::Status(const auth::Principal& principal)> work);

// Without admission, and at once on gRPC's thread: for what must be answered when all threads of
// the pool wait. `work` must not block.
grpc::ServerUnaryReactor* UnaryAtOnce(const Edge& edge, grpc::CallbackServerContext* context,
                                      absl::AnyInvocable<void(Done done)> work);

// Submits `event` and ends the call with its result.
void SubmitAndFinish(const Edge& edge, cluster::Event event, Done done);

}  // namespace det::api

#endif  // MASTER_API_RPC_CALL_H_
