// The one door of every streaming method, as call.h is of the others.
//
// Called by the services' overrides on gRPC's threads.
#ifndef MASTER_SERVICE_OPEN_STREAM_H_
#define MASTER_SERVICE_OPEN_STREAM_H_

#include <memory>
#include <string_view>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "master/service/call.h"
#include "master/service/stream.h"
#include <grpcpp/grpcpp.h>

namespace det::service {

// Admits the caller to `method`, then runs `open` on the pool with the stream; a refusal closes it.
template <class Response>
Stream<Response>* OpenStream(
    const Edge& edge, grpc::CallbackServerContext* context, std::string_view method,
    absl::AnyInvocable<void(const auth::Principal&, std::shared_ptr<Stream<Response>>)> open) {
  std::shared_ptr<Stream<Response>> stream = Stream<Response>::Make(edge.pool);
  edge.pool->Post([&edge, stream, method, header = AuthorizationOf(*context),
                   open = std::move(open)]() mutable {
    const absl::StatusOr<auth::Principal> principal = edge.authenticator->Admit(method, header);
    if (principal.ok()) {
      open(*principal, std::move(stream));
    } else {
      stream->Close(principal.status());
    }
  });
  return stream.get();
}

}  // namespace det::service

#endif  // MASTER_SERVICE_OPEN_STREAM_H_
