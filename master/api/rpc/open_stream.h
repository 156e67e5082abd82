// The one door of every streaming method, as call.h is of the others.
//
// Called by the services' methods on gRPC's threads.
#ifndef MASTER_API_RPC_OPEN_STREAM_H_
#define MASTER_API_RPC_OPEN_STREAM_H_

#include <memory>
#include <string_view>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "master/api/authz/authorizer.h"
#include "master/api/common/list_request.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/stream.h"

namespace det::api {

// Admits the caller of `method`, then runs `open` on the pool with the stream; a refusal closes it.
template <class Response>
MessageStream* OpenStream(
    const Edge& edge, grpc::CallbackServerContext* context,
    const google::protobuf::Message* request, std::string_view method,
    absl::AnyInvocable<void(const auth::Principal&, std::shared_ptr<Stream<Response>>)> open) {
  std::shared_ptr<Stream<Response>> stream = Stream<Response>::Make(edge.pool);
  // The call may be over, and what is gRPC's gone, before the pool comes to it.
  std::shared_ptr<google::protobuf::Message> copy(request->New());
  copy->CopyFrom(*request);
  edge.pool->Post([&edge, context, stream, method, copy = std::move(copy), head = HeadOf(*context),
                   open = std::move(open)]() mutable {
    const auto refuse = [&](const absl::Status& why) {
      stream->Close(why, [&] { SayWhen(why, context); });
    };
    const absl::StatusOr<auth::Principal> principal =
        edge.admission->Admit(method, head.authorization, *copy);
    if (!principal.ok()) return refuse(principal.status());
    const absl::Status asked = CheckListing(*copy);
    if (!asked.ok()) return refuse(asked);
    absl::StatusOr<std::shared_ptr<void>> place = edge.admission->TakeStream(*principal);
    if (!place.ok()) return refuse(place.status());
    stream->Hold(*std::move(place));
    open(*principal, std::move(stream));
  });
  return stream.get();
}

}  // namespace det::api

#endif  // MASTER_API_RPC_OPEN_STREAM_H_
