// The message of the administrators to all users: one plain record. Reached through
// Store::cluster_message(). Any thread; blocks.
#ifndef MASTER_STORE_INTERFACES_CLUSTER_MESSAGE_H_
#define MASTER_STORE_INTERFACES_CLUSTER_MESSAGE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace det::store {

struct MessageRecord {
  std::string text;
  absl::Time starts_at;
  std::optional<absl::Time> ends_at;  // unset: until it is cleared
  absl::Time created_at;
  friend bool operator==(const MessageRecord&, const MessageRecord&) = default;
};

class ClusterMessage {
 public:
  virtual ~ClusterMessage() = default;

  // Also returns a message that has not started yet or has ended.
  virtual absl::StatusOr<std::optional<MessageRecord>> GetMessage() = 0;
  // Replaces the previous message.
  virtual absl::Status SetMessage(const MessageRecord& message) = 0;
  // Returns OK if there is no message.
  virtual absl::Status ClearMessage() = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_CLUSTER_MESSAGE_H_
