// A call that acts on many resources, one after the other, each with its own result.
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
// INVALID_ARGUMENT: `count` resources are more than kMaxBatchSize. `noun`: "run".
absl::Status TooManyError(int count, std::string_view noun);
// Returns each id once, in order. INVALID_ARGUMENT if there are more than kMaxBatchSize.
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
// Acts on all ids; `done` is called after the last.
void Start(base::ThreadPool& pool, Batch batch);

// The work of a unary method: calls `act(caller, id, done)` for each of the ids that
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
    batch.act = [caller, act = std::move(act)](int32_t id, Done one) mutable {
      act(caller, id, std::move(one));
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
