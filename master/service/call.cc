#include "master/service/call.h"

#include <memory>

#include "base/log.h"

namespace det::service {

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

std::string AuthorizationOf(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto it = metadata.find("authorization");
  return it == metadata.end() ? "" : std::string(it->second.data(), it->second.size());
}

grpc::ServerUnaryReactor* Unary(
    const Edge& edge, grpc::CallbackServerContext* context, std::string_view method,
    absl::AnyInvocable<void(const auth::Principal& principal, Done done)> work) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  edge.pool->Post([&edge, reactor, method, header = AuthorizationOf(*context),
                   work = std::move(work)]() mutable {
    const absl::StatusOr<auth::Principal> principal = edge.authenticator->Admit(method, header);
    if (!principal.ok()) {
      if (edge.on_call) edge.on_call(principal.status().code());
      reactor->Finish(ToGrpc(principal.status()));
      return;
    }
    work(*principal, [&edge, reactor, method](absl::Status status) {
      if (absl::IsInternal(status)) {
        DET_LOG(ERROR) << "call failed" << base::Field("method", method)
                       << base::Field("error", status.message());
      }
      if (edge.on_call) edge.on_call(status.code());
      reactor->Finish(ToGrpc(status));
    });
  });
  return reactor;
}

grpc::ServerUnaryReactor* UnaryNow(
    const Edge& edge, grpc::CallbackServerContext* context, std::string_view method,
    absl::AnyInvocable<absl::Status(const auth::Principal& principal)> work) {
  return Unary(edge, context, method,
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
