// The one door of every unary method: who is asking, may they, then the work, on a thread that may
// block. And absl::Status as gRPC's.
//
// Called by the services' overrides on gRPC's threads.
#ifndef MASTER_SERVICE_CALL_H_
#define MASTER_SERVICE_CALL_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/auth/permissions.h"
#include "master/service/edge.h"
#include <grpcpp/grpcpp.h>

namespace det::service {

grpc::Status ToGrpc(const absl::Status& status);

// The Authorization header of a call, empty without one.
std::string AuthorizationOf(const grpc::CallbackServerContext& context);

// Ends the call; to be called once, on any thread.
using Done = absl::AnyInvocable<void(absl::Status)>;

// Admits the caller to `method` ("det.api.v1.TrialService.GetTrial") and runs `work` on the pool.
// Request and response live until `done` is called.
grpc::ServerUnaryReactor* Unary(
    const Edge& edge, grpc::CallbackServerContext* context, std::string_view method,
    absl::AnyInvocable<void(const auth::Principal& principal, Done done)> work);

// The same for work that has ended when it returns.
grpc::ServerUnaryReactor* UnaryNow(
    const Edge& edge, grpc::CallbackServerContext* context, std::string_view method,
    absl::AnyInvocable<absl::Status(const auth::Principal& principal)> work);

// Submits `event` and ends the call with its result.
void SubmitAndFinish(const Edge& edge, cluster::Event event, Done done);

}  // namespace det::service

#endif  // MASTER_SERVICE_CALL_H_
