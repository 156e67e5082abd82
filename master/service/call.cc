#include "master/service/call.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/uuid.h"
#include "master/service/admission.h"

namespace det::service {
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

// "experiment 7", "checkpoint a b and 3 more": nothing else of a request is told.
std::string TargetOf(const auth::Requirement& needs, const google::protobuf::Message& request) {
  if (needs.field.empty()) return "";
  std::vector<std::string> ids = ValuesAt(request, needs.field);
  if (ids.empty()) return "";
  const size_t more = ids.size() > kNamedThings ? ids.size() - kNamedThings : 0;
  ids.resize(ids.size() - more);
  const std::string_view noun = auth::Noun(needs.where);
  return absl::StrCat(absl::string_view(noun.data(), noun.size()), " ", absl::StrJoin(ids, " "),
                      more == 0 ? "" : absl::StrCat(" and ", more, " more"));
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

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

CallHead HeadOf(grpc::CallbackServerContext& context) {
  CallHead head{.authorization = ValueOf(context, "authorization"),
                .request_id = ValueOf(context, "x-request-id"),
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
             const google::protobuf::Message& request, const absl::Status& status) {
  if (edge.on_call) edge.on_call(status.code());
  if (absl::IsInternal(status)) {
    DET_LOG(ERROR) << "call failed" << base::Field("method", method)
                   << base::Field("request_id", head.request_id)
                   << base::Field("error", status.message());
  }
  const auth::Requirement needs = auth::RequirementOf(method);
  if (!needs.changes()) return;
  // Who was refused is not always known: the token is not, or its kind is the wrong one.
  const std::string caller = principal.ok() ? NameOf(*principal) : "";
  DET_LOG(INFO) << "change" << base::Field("method", method) << base::Field("caller", caller)
                << base::Field("peer", head.peer) << base::Field("target", TargetOf(needs, request))
                << base::Field("request_id", head.request_id)
                << base::Field("code", absl::StatusCodeToString(status.code()));
}

grpc::ServerUnaryReactor* Unary(
    const Edge& edge, grpc::CallbackServerContext* context,
    const google::protobuf::Message* request, std::string_view method,
    absl::AnyInvocable<void(const auth::Principal& principal, Done done)> work) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  edge.pool->Post([&edge, context, reactor, request, method, head = HeadOf(*context),
                   work = std::move(work)]() mutable {
    const absl::StatusOr<auth::Principal> principal =
        edge.admission->Admit(method, head.authorization, *request);
    if (!principal.ok()) {
      SayWhen(principal.status(), context);
      NoteEnd(edge, method, head, principal, *request, principal.status());
      reactor->Finish(ToGrpc(principal.status()));
      return;
    }
    work(*principal, [&edge, reactor, request, method, principal,
                      head = std::move(head)](const absl::Status& status) {
      NoteEnd(edge, method, head, principal, *request, status);
      reactor->Finish(ToGrpc(status));
    });
  });
  return reactor;
}

grpc::ServerUnaryReactor* UnaryNow(
    const Edge& edge, grpc::CallbackServerContext* context,
    const google::protobuf::Message* request, std::string_view method,
    absl::AnyInvocable<absl::Status(const auth::Principal& principal)> work) {
  return Unary(edge, context, request, method,
               [work = std::move(work)](const auth::Principal& principal, Done done) mutable {
                 done(work(principal));
               });
}

void SubmitAndFinish(const Edge& edge, cluster::Event event, Done done) {
  edge.engine->Submit(
      std::move(event),
      [done = std::move(done)](const absl::StatusOr<engine::Applied>& applied) mutable {
        done(applied.status());
      });
}

}  // namespace det::service
