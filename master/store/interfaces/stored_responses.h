// Responses to create requests with an idempotency key, so that a repeated request gets the same
// response: plain records, one transaction each. Reached through Store::stored_responses(). Any
// thread; blocks.
#ifndef MASTER_STORE_INTERFACES_STORED_RESPONSES_H_
#define MASTER_STORE_INTERFACES_STORED_RESPONSES_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/core/model/ids.h"

namespace det::store {

struct StoredResponse {
  model::UserId user;
  std::string key;      // chosen by the client
  std::string method;   // "det.api.v1.UserService.PostUser"
  std::string request;  // a hash of the request
  absl::Time at;
  int code = 0;          // an absl::StatusCode
  std::string message;   // of the status
  std::string response;  // the serialized response; any bytes
  friend bool operator==(const StoredResponse&, const StoredResponse&) = default;
};

class StoredResponses {
 public:
  virtual ~StoredResponses() = default;

  // Returns the user's response for the key, or nullopt if there is none since `since`.
  virtual absl::StatusOr<std::optional<StoredResponse>> GetResponse(model::UserId user,
                                                                    const std::string& key,
                                                                    absl::Time since) = 0;
  // Stores the response, replacing an older one with the same key, and deletes all from before
  // `since`.
  virtual absl::Status PutResponse(const StoredResponse& stored, absl::Time since) = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_STORED_RESPONSES_H_
