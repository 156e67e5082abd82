// The first answers to creates that carried an idempotency key: plain records, one transaction
// each. Reached by Store::answers(). Any thread; blocks.
#ifndef MASTER_STORE_INTERFACES_ANSWERS_H_
#define MASTER_STORE_INTERFACES_ANSWERS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/core/model/ids.h"

namespace det::store {

struct AnswerRecord {
  model::UserId user;
  std::string key;      // the caller's
  std::string method;   // "det.api.v1.UserService.PostUser"
  std::string request;  // a hash of it
  absl::Time at;
  int code = 0;          // of absl::StatusCode
  std::string message;   // of the status
  std::string response;  // serialised; any bytes
  friend bool operator==(const AnswerRecord&, const AnswerRecord&) = default;
};

class Answers {
 public:
  virtual ~Answers() = default;

  // The user's answer under the key, unless it was given before `since`.
  virtual absl::StatusOr<std::optional<AnswerRecord>> GetAnswer(model::UserId user,
                                                                const std::string& key,
                                                                absl::Time since) = 0;
  // Keeps it in place of an older one under the key, and drops all from before `since`.
  virtual absl::Status PutAnswer(const AnswerRecord& answer, absl::Time since) = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_ANSWERS_H_
