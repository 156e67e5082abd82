// Idempotency keys: a create under a key is done once, and whoever repeats it gets its first answer
// (docs/api.md).
//
// Asked by call.h on the edge's pool: it blocks on the store.
#ifndef MASTER_API_IDEMPOTENCY_IDEMPOTENCY_STORE_H_
#define MASTER_API_IDEMPOTENCY_IDEMPOTENCY_STORE_H_

#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "master/core/model/ids.h"
#include "master/store/interfaces/answers.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace det::api {

// How long a first answer is good.
inline constexpr absl::Duration kAnswerLives = absl::Hours(24);

class FirstAnswers {
 public:
  // Both must outlive it.
  FirstAnswers(store::Answers* store, const base::Clock* clock) : store_(*store), clock_(*clock) {}

  // One request under a key.
  struct Ask {
    model::UserId user;
    std::string key;
    std::string method;
    std::string request;  // HashOf it
  };
  // Nothing: this is the first, or the first failed in a way that may be repeated; then End() must
  // follow. Else the first answer, with its response in `response`. ABORTED while the first is
  // under way, INVALID_ARGUMENT for a key that no header can carry and for one that another request
  // has used.
  absl::StatusOr<std::optional<absl::Status>> Begin(const Ask& ask,
                                                    google::protobuf::Message* response);

  // The end of what began. Keeps the answer, if it is for good; one that holds a secret is not
  // kept: a repetition is then refused, as it cannot be told and must not be made twice.
  void End(const Ask& ask, const absl::Status& status, const google::protobuf::Message& response);

  // Of a request without its passwords.
  static std::string HashOf(const google::protobuf::Message& request);

 private:
  store::Answers& store_;
  const base::Clock& clock_;
  std::mutex mutex_;
  std::set<std::pair<model::UserId, std::string>> under_way_;
};

}  // namespace det::api

#endif  // MASTER_API_IDEMPOTENCY_IDEMPOTENCY_STORE_H_
