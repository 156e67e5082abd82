// What administrators have to say to everybody: one message, a plain record. Reached by
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
  std::optional<absl::Time> ends_at;  // without: until it is taken back
  absl::Time created_at;
  friend bool operator==(const MessageRecord&, const MessageRecord&) = default;
};

class ClusterMessage {
 public:
  virtual ~ClusterMessage() = default;

  // Whether its time has come or not.
  virtual absl::StatusOr<std::optional<MessageRecord>> GetMessage() = 0;
  // In place of an older one.
  virtual absl::Status SetMessage(const MessageRecord& message) = 0;
  // OK when there is none.
  virtual absl::Status ClearMessage() = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_CLUSTER_MESSAGE_H_
