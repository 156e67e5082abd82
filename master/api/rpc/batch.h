// What one call does to many things: to each by itself, one after the other, with its own result.
//
// Called by the services of actions on gRPC's threads; the work is on the pool.
#ifndef MASTER_API_RPC_BATCH_H_
#define MASTER_API_RPC_BATCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/repeated_field.h"
#include "master/api/rpc/call.h"

namespace det::api {

inline constexpr int kMostInBatch = 1000;
// `noun`: "run".
absl::Status TooMany(int count, std::string_view noun);
// Each once, in their order. INVALID_ARGUMENT for too many.
absl::StatusOr<std::vector<int32_t>> EachOnce(const google::protobuf::RepeatedField<int32_t>& ids,
                                              std::string_view noun);

struct Batch {
  std::string noun;
  std::vector<int32_t> ids;
  absl::AnyInvocable<void(int32_t id, Done done)> act;
  std::function<void(int32_t id, const absl::Status& status)> answer;
  NotePart note;
  Done done;
  size_t next = 0;
};
// `done` comes after the last.
void Start(const Edge& edge, Batch batch);

// The method of a service: does `act(caller, id, done)` to each of those that `choose(caller)`
// names, and writes the results.
template <class Request, class Response, class Choose, class Act>
grpc::ServerUnaryReactor* ForEach(const Edge& edge, grpc::CallbackServerContext* context,
                                  std::string_view method, const char* noun, const Request* request,
                                  Response* response, Choose choose, Act act) {
  return UnaryOfParts(
      edge, context, request, method,
      [&edge, noun, response, choose = std::move(choose), act = std::move(act)](
          const auth::Principal& caller, NotePart note, Done done) mutable {
        absl::StatusOr<std::vector<int32_t>> ids = choose(caller);
        if (!ids.ok()) return done(ids.status());
        Start(edge, {.noun = noun,
                     .ids = *std::move(ids),
                     .act = [caller, act = std::move(act)](
                                int32_t id, Done one) mutable { act(caller, id, std::move(one)); },
                     .answer =
                         [response](int32_t id, const absl::Status& status) {
                           auto& result = *response->add_results();
                           result.set_id(id);
                           if (!status.ok()) result.set_error(std::string(status.message()));
                         },
                     .note = std::move(note),
                     .done = std::move(done)});
      });
}

}  // namespace det::api

#endif  // MASTER_API_RPC_BATCH_H_
