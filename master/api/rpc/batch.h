// A call that applies an action to many resources, one after the other, and returns one result for
// each.
//
// Used by the action services on gRPC's threads; the work runs on the pool.
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

inline constexpr int kMaxBatchSize = 1000;
// Returns the INVALID_ARGUMENT error for a `count` over kMaxBatchSize. `noun` names one resource:
// "run".
absl::Status TooManyError(int count, std::string_view noun);
// Returns each id once, in order. Returns INVALID_ARGUMENT if there are more than kMaxBatchSize.
absl::StatusOr<std::vector<int32_t>> GetUniqueIds(
    const google::protobuf::RepeatedField<int32_t>& ids, std::string_view noun);

struct Batch {
  std::string noun;
  std::vector<int32_t> ids;
  absl::AnyInvocable<void(int32_t id, Done done)> act;
  std::function<void(int32_t id, const absl::Status& status)> respond;
  std::function<void(const std::string& target, const absl::Status& status)> record;
  Done done;
  size_t next = 0;
};
// Acts on all ids, and calls `done` after the last.
void Start(base::ThreadPool& pool, Batch batch);

// Returns the work of a unary method, which calls `act(caller, id, done)` for each of the ids that
// `choose(caller)` returns, and writes the results into the response.
template <class Response, class Choose, class Act>
CallPipeline::Work ForEach(base::ThreadPool& pool, const char* noun, Response* response,
                           Choose choose, Act act) {
  return [&pool, noun, response, choose = std::move(choose), act = std::move(act)](
             Call& call, Done done) mutable {
    const auth::Principal caller = call.principal();
    absl::StatusOr<std::vector<int32_t>> ids = choose(caller);
    if (!ids.ok()) return done(ids.status());
    Batch batch;
    batch.noun = noun;
    batch.ids = *std::move(ids);
    batch.act = [caller, act = std::move(act)](int32_t id, Done id_done) mutable {
      act(caller, id, std::move(id_done));
    };
    batch.respond = [response](int32_t id, const absl::Status& status) {
      auto& result = *response->add_results();
      result.set_id(id);
      if (!status.ok()) result.set_error(std::string(status.message()));
    };
    batch.record = [&call](const std::string& target, const absl::Status& status) {
      call.RecordPart(target, status);
    };
    batch.done = std::move(done);
    Start(pool, std::move(batch));
  };
}

}  // namespace det::api

#endif  // MASTER_API_RPC_BATCH_H_
