#include "master/api/rpc/call.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/log.h"
#include "base/uuid.h"
#include "master/api/common/list_request.h"
#include "master/api/rpc/local_call.h"
#include "master/api/rpc/message_stream.h"
#include <google/protobuf/descriptor.h>
#include <grpcpp/grpcpp.h>

namespace det::api {
namespace {

constexpr size_t kMaxIdLength = 128;
constexpr size_t kMaxNamedResources = 8;  // of a request, in its audit record

std::string GetMetadata(const grpc::CallbackServerContext& context, const char* key) {
  const auto& metadata = context.client_metadata();
  const auto it = metadata.find(key);
  return it == metadata.end() ? "" : std::string(it->second.data(), it->second.size());
}

bool IsPrintable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c <= 0x7e; });
}

// Only the gateway may state where a call came from: it calls from within this process. (For a
// decision about access this would not be enough, hence the ticket.)
std::string GetPeer(const grpc::CallbackServerContext& context) {
  const std::string peer = context.peer();
  const bool in_process = absl::StartsWith(peer, "inproc") || peer == "unknown" || peer.empty();
  return in_process ? GetMetadata(context, "x-peer") : peer;
}

// "checkpoint a b and 3 more"; empty if the request names none.
std::string DescribeResources(std::string_view noun, std::string_view field,
                              const google::protobuf::Message& request) {
  if (field.empty()) return "";
  std::vector<std::string> ids = GetFieldValues(request, field);
  if (ids.empty()) return "";
  const size_t more = ids.size() > kMaxNamedResources ? ids.size() - kMaxNamedResources : 0;
  ids.resize(ids.size() - more);
  for (std::string& id : ids) id.resize(std::min(id.size(), kMaxIdLength));
  return absl::StrCat(absl::string_view(noun.data(), noun.size()), " ", absl::StrJoin(ids, " "),
                      more == 0 ? "" : absl::StrCat(" and ", more, " more"));
}

// "experiment 7", "workspace 2, user_id 3", "project 3, made experiment 8": the audit record
// contains nothing else of a request and its response.
std::string DescribeTarget(const auth::Requirement& method,
                           const google::protobuf::Message& request,
                           const google::protobuf::Message* created) {
  const std::string_view last = method.audit_field.substr(method.audit_field.rfind('.') + 1);
  std::vector<std::string> parts = {
      DescribeResources(auth::GetNoun(method.scope), method.field, request),
      DescribeResources(last, method.audit_field, request)};
  if (created != nullptr) {
    const std::string_view field = method.audit_result_field;
    const std::string named = DescribeResources(field.substr(0, field.find('.')), field, *created);
    parts.push_back(named.empty() ? "" : absl::StrCat("made ", named));
  }
  std::erase(parts, "");
  return absl::StrJoin(parts, ", ");
}

// Whether a request only validates, and changes nothing.
bool IsDryRun(const google::protobuf::Message& request) {
  const auto* field = request.GetDescriptor()->FindFieldByName("validate_only");
  return field != nullptr && request.GetReflection()->GetBool(request, field);
}

std::string GetName(const auth::Principal& principal) {
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

// Adds to the response when to retry, if the refusal contains it. Must be called before the call
// has ended.
void SetRetryAfter(const absl::Status& refusal, grpc::CallbackServerContext* context) {
  if (const auto seconds = refusal.GetPayload(kRetryAfter)) {
    context->AddTrailingMetadata(kRetryAfter, std::string(*seconds));
  }
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

CallHead ReadCallHead(grpc::CallbackServerContext& context) {
  CallHead head{.credentials = {.authorization = GetMetadata(context, "authorization"),
                                .ticket = GetMetadata(context, "x-authorization-ticket")},
                .request_id = GetMetadata(context, "x-request-id"),
                .idempotency_key = GetMetadata(context, "idempotency-key"),
                .peer = GetPeer(context)};
  if (head.request_id.empty() || head.request_id.size() > kMaxIdLength ||
      !IsPrintable(head.request_id)) {
    head.request_id = base::NewUuid();
  }
  context.AddTrailingMetadata("x-request-id", head.request_id);
  return head;
}

std::string GetAcceptHeader(const grpc::CallbackServerContext& context) {
  return GetMetadata(context, "x-accept");
}

void SubmitAndFinish(engine::Engine& engine, cluster::Event event, Done done) {
  SubmitAndContinue(
      engine, std::move(event),
      [](const engine::Applied&, Done finish) { finish(absl::OkStatus()); }, std::move(done));
}

void SubmitAndContinue(engine::Engine& engine, cluster::Event event, AfterCommit next, Done done) {
  engine.Submit(std::move(event), [next = std::move(next), done = std::move(done)](
                                      const absl::StatusOr<engine::Applied>& applied) mutable {
    if (!applied.ok()) return done(applied.status());
    next(*applied, std::move(done));
  });
}

// gRPC's side of a call. Deletes itself.
class Call::Reactor final : public grpc::ServerUnaryReactor {
 public:
  explicit Reactor(std::shared_ptr<Call> call) : call_(std::move(call)) {}

  void OnCancel() override { call_->NotifyCanceled(); }
  void OnDone() override { delete this; }

 private:
  const std::shared_ptr<Call> call_;
};

Call::Call(CallPipeline& pipeline, const google::protobuf::Message& request,
           google::protobuf::Message* response, const auth::Requirement& method, CallHead head)
    : pipeline_(pipeline),
      request_(request),
      response_(response),
      method_(method),
      head_(std::move(head)) {}

void Call::End(const absl::Status& status) {
  pipeline_.RecordEnd(*this, status);
  Done end = std::move(end_);
  end(status);
}

void Call::RecordPart(const std::string& target, const absl::Status& status) const {
  pipeline_.RecordChange(*this, target, status);
}

void Call::OnCancel(absl::AnyInvocable<void()> callback) {
  std::unique_lock lock(mutex_);
  if (!canceled_) {
    on_cancel_ = std::move(callback);
    return;
  }
  lock.unlock();
  callback();
}

void Call::NotifyCanceled() {
  std::unique_lock lock(mutex_);
  canceled_ = true;
  absl::AnyInvocable<void()> callback = std::move(on_cancel_);
  on_cancel_ = nullptr;
  lock.unlock();
  if (callback) callback();
}

grpc::ServerUnaryReactor* CallPipeline::RunUnary(grpc::CallbackServerContext* context,
                                                 const google::protobuf::Message& request,
                                                 google::protobuf::Message* response,
                                                 const auth::Requirement& method, Work work) {
  auto* const local = dynamic_cast<LocalContext*>(context);
  CallHead head = local != nullptr ? std::move(local->head) : ReadCallHead(*context);
  const std::shared_ptr<Call> call(new Call(*this, request, response, method, std::move(head)));
  grpc::ServerUnaryReactor* reactor = nullptr;
  if (local != nullptr) {
    call->end_ = std::move(local->done);
    local->cancel = [weak = std::weak_ptr(call)] {
      if (const auto running = weak.lock()) running->NotifyCanceled();
    };
  } else {
    reactor = new Call::Reactor(call);
    call->end_ = [reactor, context](const absl::Status& status) {
      SetRetryAfter(status, context);
      reactor->Finish(ToGrpc(status));
    };
  }
  parts_.pool->Post(
      [this, call, work = std::move(work)]() mutable { Start(call, std::move(work)); });
  return reactor;
}

void CallPipeline::Start(const std::shared_ptr<Call>& call, Work work) {
  Authorization decision =
      parts_.authorizer->Authorize(call->method_, call->head_.credentials, call->request_);
  call->principal_ = std::move(decision.caller);
  if (!decision.status.ok()) return call->End(decision.status);
  const absl::Status valid = CheckListRequest(call->request_);
  if (!valid.ok()) return call->End(valid);
  if (!BeginIdempotent(*call)) return;
  work(*call, [this, call](absl::Status status) {
    if (status.ok() && call->response_ != nullptr) {
      status = CheckListResponse(call->request_, *call->response_);
    }
    if (!call->idempotent_) return call->End(status);
    // This may run on the engine's loop, which must not wait for the store.
    parts_.pool->Post([this, call, status] {
      parts_.idempotency->End(*call->idempotent_, status, *call->response_);
      call->End(status);
    });
  });
}

bool CallPipeline::BeginIdempotent(Call& call) {
  if (call.head_.idempotency_key.empty() || !call.method_.creates) return true;
  const std::string& method = call.method_.method;
  DET_CHECK(call.response_ != nullptr) << method << " passes no response";
  if (call.principal_.kind != auth::PrincipalKind::kUser) {
    call.End(absl::InvalidArgumentError(
        absl::StrCat(method, " accepts an Idempotency-Key only from users; send it without one")));
    return false;
  }
  IdempotencyStore::Request request{call.principal_.user, call.head_.idempotency_key, method,
                                    IdempotencyStore::HashRequest(call.request_)};
  const auto stored = parts_.idempotency->Begin(request, call.response_);
  if (stored.ok() && !stored->has_value()) {
    call.idempotent_ = std::move(request);
    return true;
  }
  call.End(stored.ok() ? **stored : stored.status());
  return false;
}

grpc::ServerUnaryReactor* CallPipeline::RunInline(grpc::CallbackServerContext* context,
                                                  absl::AnyInvocable<void(Done done)> work) {
  if (auto* const local = dynamic_cast<LocalContext*>(context)) {
    work([this, end = std::move(local->done)](const absl::Status& status) mutable {
      if (parts_.on_call) parts_.on_call(status.code());
      end(status);
    });
    return nullptr;
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  ReadCallHead(*context);
  work([this, reactor](const absl::Status& status) {
    if (parts_.on_call) parts_.on_call(status.code());
    reactor->Finish(ToGrpc(status));
  });
  return reactor;
}

void CallPipeline::RunStream(grpc::CallbackServerContext* context,
                             const google::protobuf::Message& request,
                             const auth::Requirement& method, std::shared_ptr<MessageStream> stream,
                             StreamWork open) {
  // The call may have ended, and gRPC's objects with it, before the pool runs this.
  std::shared_ptr<google::protobuf::Message> copy(request.New());
  copy->CopyFrom(request);
  parts_.pool->Post([this, context, stream = std::move(stream), &method, copy = std::move(copy),
                     head = ReadCallHead(*context), open = std::move(open)]() mutable {
    const auto refuse = [&](const absl::Status& why) {
      stream->Close(why, [&] { SetRetryAfter(why, context); });
    };
    const Authorization decision = parts_.authorizer->Authorize(method, head.credentials, *copy);
    if (!decision.status.ok()) return refuse(decision.status);
    const absl::Status valid = CheckListRequest(*copy);
    if (!valid.ok()) return refuse(valid);
    absl::StatusOr<std::shared_ptr<void>> opened = parts_.authorizer->OpenStream(decision.caller);
    if (!opened.ok()) return refuse(opened.status());
    stream->Hold(*std::move(opened));
    open(decision.caller);
  });
}

void CallPipeline::RecordEnd(const Call& call, const absl::Status& status) {
  if (parts_.on_call) parts_.on_call(status.code());
  if (absl::IsInternal(status)) {
    DET_LOG(ERROR) << "call failed" << base::Field("method", call.method_.method)
                   << base::Field("request_id", call.head_.request_id)
                   << base::Field("error", status.message());
  }
  // Calls over the rate limit are too many to be worth a record each.
  if (!call.method_.is_audited() || IsDryRun(call.request_) || absl::IsResourceExhausted(status)) {
    return;
  }
  RecordChange(call,
               DescribeTarget(call.method_, call.request_, status.ok() ? call.response_ : nullptr),
               status);
}

void CallPipeline::RecordChange(const Call& call, const std::string& target,
                                const absl::Status& status) {
  const auth::Principal& caller = call.principal_;
  const std::string code = absl::StatusCodeToString(status.code());
  // Callers without a valid token leave no audit record: they could fill the database.
  if (parts_.audit != nullptr && caller.kind != auth::PrincipalKind::kNobody) {
    store::AuditRecord record;
    record.at = parts_.clock->Now();
    if (caller.kind == auth::PrincipalKind::kUser) record.user = caller.user;
    record.caller = GetName(caller);
    record.access_token = caller.access_token;
    record.peer = call.head_.peer;
    record.method = call.method_.method;
    record.target = target;
    record.request_id = call.head_.request_id;
    record.code = code;
    parts_.audit->Append(std::move(record));
  }
  DET_LOG(INFO) << "change" << base::Field("method", call.method_.method)
                << base::Field("caller", GetName(caller))
                << base::Field("access_token", caller.access_token)
                << base::Field("allocation", caller.allocation.value())
                << base::Field("peer", call.head_.peer) << base::Field("target", target)
                << base::Field("request_id", call.head_.request_id) << base::Field("code", code);
}

}  // namespace det::api
