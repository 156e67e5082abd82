// Idempotency keys: a create request with a key is executed once, and a repeated request gets the
// stored response (docs/api.md). Called by the call pipeline (rpc/call.h) on the pool: it blocks on
// the store.
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
#include "absl/time/time.h"
#include "base/clock.h"
#include "master/core/model/ids.h"
#include "master/store/interfaces/stored_responses.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace det::api {

// How long a stored response is returned.
inline constexpr absl::Duration kStoredResponseLifetime = absl::Hours(24);

class IdempotencyStore {
 public:
  // Both must outlive it.
  IdempotencyStore(store::StoredResponses* store, const base::Clock* clock)
      : store_(*store), clock_(*clock) {}

  // One request with a key.
  struct Request {
    model::UserId user;
    std::string key;
    std::string method;
    std::string request;  // HashRequest() of the message
  };
  // Returns nullopt if this is the first request, or if the first failed in a way that may be
  // retried; End() must then follow. Otherwise returns the stored status and sets `response`.
  // Returns ABORTED while the first request is running, and INVALID_ARGUMENT if the key is too long
  // or was used for a different request.
  absl::StatusOr<std::optional<absl::Status>> Begin(const Request& request,
                                                    google::protobuf::Message* response);

  // Ends a request that Begin() started. Stores the response if its status is permanent. A response
  // that contains a secret is not stored: a repeated request then fails with ALREADY_EXISTS,
  // because the secret cannot be returned and must not be created twice.
  void End(const Request& request, const absl::Status& status,
           const google::protobuf::Message& response);

  // Hashes a request without its password.
  static std::string HashRequest(const google::protobuf::Message& request);

 private:
  store::StoredResponses& store_;
  const base::Clock& clock_;
  std::mutex mutex_;
  std::set<std::pair<model::UserId, std::string>> in_progress_;
};

}  // namespace det::api

#endif  // MASTER_API_IDEMPOTENCY_IDEMPOTENCY_STORE_H_
