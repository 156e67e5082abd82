#include "master/api/rpc/call.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/uuid.h"
#include "master/api/audit/audit_trail.h"
#include "master/api/authz/authorizer.h"
#include "master/api/common/list_request.h"
#include "master/api/idempotency/idempotency_store.h"
#include <grpcpp/grpcpp.h>

namespace det::api {
namespace {

constexpr size_t kLongestId = 128;
constexpr size_t kNamedThings = 8;  // of a request, in its record

std::string ValueOf(const grpc::CallbackServerContext& context, const char* key) {
  const auto& metadata = context.client_metadata();
  const auto it = metadata.find(key);
  return it == metadata.end() ? "" : std::string(it->second.data(), it->second.size());
}

bool IsPrintable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c <= 0x7e; });
}

// Only the gateway's word is taken for where a call came from: it calls from within this process.
std::string PeerOf(const grpc::CallbackServerContext& context) {
  const std::string peer = context.peer();
  const bool own = absl::StartsWith(peer, "inproc") || peer == "unknown" || peer.empty();
  return own ? ValueOf(context, "x-peer") : peer;
}

// "checkpoint a b and 3 more"; empty when the request has nothing there.
std::string Named(std::string_view noun, std::string_view field,
                  const google::protobuf::Message& request) {
  if (field.empty()) return "";
  std::vector<std::string> ids = ValuesAt(request, field);
  if (ids.empty()) return "";
  const size_t more = ids.size() > kNamedThings ? ids.size() - kNamedThings : 0;
  ids.resize(ids.size() - more);
  for (std::string& id : ids) id.resize(std::min(id.size(), kLongestId));
  return absl::StrCat(absl::string_view(noun.data(), noun.size()), " ", absl::StrJoin(ids, " "),
                      more == 0 ? "" : absl::StrCat(" and ", more, " more"));
}

// "experiment 7", "workspace 2, user_id 3", "project 3, made experiment 8": nothing else of a
// request and its answer is told.
std::string TargetOf(const auth::Requirement& needs, const google::protobuf::Message& request,
                     const google::protobuf::Message* made) {
  const std::string_view last = needs.told.substr(needs.told.rfind('.') + 1);
  std::vector<std::string> parts = {Named(auth::Noun(needs.where), needs.field, request),
                                    Named(last, needs.told, request)};
  if (made != nullptr) {
    const std::string named = Named(needs.made.substr(0, needs.made.find('.')), needs.made, *made);
    parts.push_back(named.empty() ? "" : absl::StrCat("made ", named));
  }
  std::erase(parts, "");
  return absl::StrJoin(parts, ", ");
}

// Whether a request asks what would come of it, and changes nothing.
bool OnlyAsks(const google::protobuf::Message& request) {
  const auto* field = request.GetDescriptor()->FindFieldByName("validate_only");
  return field != nullptr && request.GetReflection()->GetBool(request, field);
}

std::string NameOf(const auth::Principal& principal) {
  switch (principal.kind) {
    case auth::PrincipalKind::kNobody:
      return "nobody";
    case auth::PrincipalKind::kAgent:
      return "agent";
    case auth::PrincipalKind::kAllocation:
      return principal.allocation.value();
    case auth::PrincipalKind::kUser:
      return principal.name;
  }
  return "";
}

// Who was refused, as far as the token says it: not always is that known.
auth::Principal CallerOf(const Edge& edge, const CallHead& head,
                         const absl::StatusOr<auth::Principal>& principal) {
  if (principal.ok()) return *principal;
  return edge.authenticator->Authenticate(head.authorization).value_or(auth::Principal{});
}

// Strangers leave no record: they could fill the database.
void NoteAudit(const Edge& edge, std::string_view method, const CallHead& head,
               const auth::Principal& caller, const std::string& target,
               const absl::Status& status) {
  if (edge.audit == nullptr || caller.kind == auth::PrincipalKind::kNobody) return;
  store::AuditRecord record;
  record.at = edge.clock->Now();
  if (caller.kind == auth::PrincipalKind::kUser) record.user = caller.user;
  record.caller = NameOf(caller);
  record.access_token = caller.access_token;
  record.peer = head.peer;
  record.method = std::string(method);
  record.target = target;
  record.request_id = head.request_id;
  record.code = absl::StatusCodeToString(status.code());
  edge.audit->Note(std::move(record));
}

void NoteChange(const Edge& edge, std::string_view method, const CallHead& head,
                const auth::Principal& caller, const std::string& target,
                const absl::Status& status) {
  NoteAudit(edge, method, head, caller, target, status);
  DET_LOG(INFO) << "change" << base::Field("method", method)
                << base::Field("caller", NameOf(caller))
                << base::Field("access_token", caller.access_token)
                << base::Field("peer", head.peer) << base::Field("target", target)
                << base::Field("request_id", head.request_id)
                << base::Field("code", absl::StatusCodeToString(status.code()));
}

// One unary call; lives until it is finished.
struct Call {
  const Edge& edge;
  grpc::CallbackServerContext* context;
  grpc::ServerUnaryReactor* reactor;
  const google::protobuf::Message* request;
  google::protobuf::Message* response;  // of UnaryOnce alone
  std::string_view method;
  CallHead head;
  absl::StatusOr<auth::Principal> principal;
  bool once = false;  // under a key
  FirstAnswers::Ask ask;

  void Finish(const absl::Status& status) {
    NoteEnd(edge, method, head, principal, *request, response, status);
    reactor->Finish(ToGrpc(status));
  }
};
using Work = absl::AnyInvocable<void(std::shared_ptr<Call> call, Done done)>;

// Deletes itself.
class WaitingCall final : public grpc::ServerUnaryReactor {
 public:
  explicit WaitingCall(std::shared_ptr<Departure> departure) : departure_(std::move(departure)) {}
  void OnCancel() override { departure_->Tell(); }
  void OnDone() override { delete this; }

 private:
  const std::shared_ptr<Departure> departure_;
};

// Whether the work is to be done; else the call is finished.
bool BeginOnce(Call& call) {
  if (call.head.key.empty() || !auth::RequirementOf(call.method).makes) return true;
  if (call.response == nullptr || call.principal->kind != auth::PrincipalKind::kUser) {
    call.Finish(absl::InvalidArgumentError(
        absl::StrCat(absl::string_view(call.method.data(), call.method.size()),
                     " takes no Idempotency-Key; send it without one")));
    return false;
  }
  call.ask = {call.principal->user, call.head.key, std::string(call.method),
              FirstAnswers::HashOf(*call.request)};
  const auto first = call.edge.answers->Begin(call.ask, call.response);
  if (first.ok() && !first->has_value()) {
    call.once = true;
    return true;
  }
  call.Finish(first.ok() ? **first : first.status());
  return false;
}

// The store is asked on the pool: `done` may come on the engine's loop.
void End(std::shared_ptr<Call> call, const absl::Status& status) {
  if (!call->once) return call->Finish(status);
  const Edge& edge = call->edge;
  edge.pool->Post([call = std::move(call), status] {
    call->edge.answers->End(call->ask, status, *call->response);
    call->Finish(status);
  });
}

grpc::ServerUnaryReactor* RunOn(grpc::ServerUnaryReactor* reactor, const Edge& edge,
                                grpc::CallbackServerContext* context,
                                const google::protobuf::Message* request,
                                google::protobuf::Message* response, std::string_view method,
                                Work work) {
  auto call = std::make_shared<Call>(Call{.edge = edge,
                                          .context = context,
                                          .reactor = reactor,
                                          .request = request,
                                          .response = response,
                                          .method = method,
                                          .head = HeadOf(*context),
                                          .principal = auth::Principal{}});
  edge.pool->Post([call = std::move(call), work = std::move(work)]() mutable {
    call->principal =
        call->edge.admission->Admit(call->method, call->head.authorization, *call->request);
    if (!call->principal.ok()) {
      SayWhen(call->principal.status(), call->context);
      return call->Finish(call->principal.status());
    }
    const absl::Status asked = CheckListing(*call->request);
    if (!asked.ok()) return call->Finish(asked);
    if (!BeginOnce(*call)) return;
    work(call, [call](const absl::Status& status) { End(call, status); });
  });
  return reactor;
}

grpc::ServerUnaryReactor* Run(const Edge& edge, grpc::CallbackServerContext* context,
                              const google::protobuf::Message* request,
                              google::protobuf::Message* response, std::string_view method,
                              Work work) {
  return RunOn(context->DefaultReactor(), edge, context, request, response, method,
               std::move(work));
}

Work Knowing(absl::AnyInvocable<void(const auth::Principal& principal, Done done)> work) {
  return [work = std::move(work)](const std::shared_ptr<Call>& call, Done done) mutable {
    work(*call->principal, std::move(done));
  };
}

// As work that tells its end.
Work Telling(absl::AnyInvocable<absl::Status(const auth::Principal& principal)> work) {
  return [work = std::move(work)](const std::shared_ptr<Call>& call, Done done) mutable {
    done(work(*call->principal));
  };
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

std::string AcceptOf(const grpc::CallbackServerContext& context) {
  return ValueOf(context, "x-accept");
}

CallHead HeadOf(grpc::CallbackServerContext& context) {
  CallHead head{.authorization = ValueOf(context, "authorization"),
                .request_id = ValueOf(context, "x-request-id"),
                .key = ValueOf(context, "idempotency-key"),
                .peer = PeerOf(context)};
  if (head.request_id.empty() || head.request_id.size() > kLongestId ||
      !IsPrintable(head.request_id)) {
    head.request_id = base::NewUuid();
  }
  context.AddTrailingMetadata("x-request-id", head.request_id);
  return head;
}

void SayWhen(const absl::Status& refusal, grpc::CallbackServerContext* context) {
  if (const auto seconds = refusal.GetPayload(kRetryAfter)) {
    context->AddTrailingMetadata(kRetryAfter, std::string(*seconds));
  }
}

void NoteEnd(const Edge& edge, std::string_view method, const CallHead& head,
             const absl::StatusOr<auth::Principal>& principal,
             const google::protobuf::Message& request, const google::protobuf::Message* response,
             const absl::Status& status) {
  if (edge.on_call) edge.on_call(status.code());
  if (absl::IsInternal(status)) {
    DET_LOG(ERROR) << "call failed" << base::Field("method", method)
                   << base::Field("request_id", head.request_id)
                   << base::Field("error", status.message());
  }
  const auth::Requirement needs = auth::RequirementOf(method);
  // Those over the limit are too many to be worth a record each.
  if (!needs.leaves_record() || OnlyAsks(request) || absl::IsResourceExhausted(status)) return;
  const auth::Principal caller = CallerOf(edge, head, principal);
  const std::string target = TargetOf(needs, request, status.ok() ? response : nullptr);
  NoteChange(edge, method, head, caller, target, status);
}

grpc::ServerUnaryReactor* Unary(
    const Edge& edge, grpc::CallbackServerContext* context,
    const google::protobuf::Message* request, std::string_view method,
    absl::AnyInvocable<void(const auth::Principal& principal, Done done)> work) {
  return Run(edge, context, request, nullptr, method, Knowing(std::move(work)));
}

grpc::ServerUnaryReactor* UnaryOfParts(
    const Edge& edge, grpc::CallbackServerContext* context,
    const google::protobuf::Message* request, std::string_view method,
    absl::AnyInvocable<void(const auth::Principal& principal, NotePart note, Done done)> work) {
  return Run(edge, context, request, nullptr, method,
             [work = std::move(work)](const std::shared_ptr<Call>& call, Done done) mutable {
               const NotePart note = [call](const std::string& target, const absl::Status& status) {
                 NoteChange(call->edge, call->method, call->head, *call->principal, target, status);
               };
               work(*call->principal, note, std::move(done));
             });
}

grpc::ServerUnaryReactor* UnaryNaming(const Edge& edge, grpc::CallbackServerContext* context,
                                      const google::protobuf::Message* request,
                                      std::string_view method,
                                      absl::AnyInvocable<void(SayWho say_who, Done done)> work) {
  return Run(edge, context, request, nullptr, method,
             [work = std::move(work)](const std::shared_ptr<Call>& call, Done done) mutable {
               work([call](const auth::Principal& caller) { call->principal = caller; },
                    std::move(done));
             });
}

void Departure::Then(absl::AnyInvocable<void()> then) {
  std::unique_lock lock(mutex_);
  if (!told_) {
    then_ = std::move(then);
    return;
  }
  lock.unlock();
  then();
}

void Departure::Tell() {
  std::unique_lock lock(mutex_);
  told_ = true;
  absl::AnyInvocable<void()> then = std::move(then_);
  lock.unlock();
  if (then) then();
}

grpc::ServerUnaryReactor* UnaryWaiting(
    const Edge& edge, grpc::CallbackServerContext* context,
    const google::protobuf::Message* request, std::string_view method,
    absl::AnyInvocable<void(const auth::Principal& principal, Departure& departure, Done done)>
        work) {
  const auto departure = std::make_shared<Departure>();
  return RunOn(
      new WaitingCall(departure), edge, context, request, nullptr, method,
      [departure, work = std::move(work)](const std::shared_ptr<Call>& call, Done done) mutable {
        work(*call->principal, *departure, std::move(done));
      });
}

grpc::ServerUnaryReactor* UnaryNow(
    const Edge& edge, grpc::CallbackServerContext* context,
    const google::protobuf::Message* request, std::string_view method,
    absl::AnyInvocable<absl::Status(const auth::Principal& principal)> work) {
  return Run(edge, context, request, nullptr, method, Telling(std::move(work)));
}

grpc::ServerUnaryReactor* UnaryOnce(
    const Edge& edge, grpc::CallbackServerContext* context,
    const google::protobuf::Message* request, google::protobuf::Message* response,
    std::string_view method,
    absl::AnyInvocable<void(const auth::Principal& principal, Done done)> work) {
  return Run(edge, context, request, response, method, Knowing(std::move(work)));
}

grpc::ServerUnaryReactor* UnaryOnceNow(
    const Edge& edge, grpc::CallbackServerContext* context,
    const google::protobuf::Message* request, google::protobuf::Message* response,
    std::string_view method,
    absl::AnyInvocable<absl::Status(const auth::Principal& principal)> work) {
  return Run(edge, context, request, response, method, Telling(std::move(work)));
}

grpc::ServerUnaryReactor* UnaryAtOnce(const Edge& edge, grpc::CallbackServerContext* context,
                                      absl::AnyInvocable<void(Done done)> work) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  HeadOf(*context);
  work([&edge, reactor](const absl::Status& status) {
    if (edge.on_call) edge.on_call(status.code());
    reactor->Finish(ToGrpc(status));
  });
  return reactor;
}

void SubmitAndFinish(const Edge& edge, cluster::Event event, Done done) {
  edge.engine->Submit(
      std::move(event),
      [done = std::move(done)](const absl::StatusOr<engine::Applied>& applied) mutable {
        done(applied.status());
      });
}

}  // namespace det::api
