// How much one caller may ask for: requests a second by a token bucket of each token, streams at a
// time of each user. Tasks and agents are not limited.
//
// Asked by service/admission.h, on any thread. Reads no clock.
#ifndef MASTER_AUTH_CALL_LIMITS_H_
#define MASTER_AUTH_CALL_LIMITS_H_

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "master/core/model/ids.h"

namespace det::auth {

struct LimitOptions {
  double requests_per_second = 1000;  // and twice that at once
  int streams_per_user = 100;
};

class CallLimits {
 public:
  explicit CallLimits(LimitOptions options) : options_(options) {}

  // Nothing when the call may go on; else after how long it may.
  std::optional<absl::Duration> Take(const std::string& token, absl::Time now);

  // False when the user has as many as may be. What was opened is to be closed.
  bool OpenStream(model::UserId user);
  void CloseStream(model::UserId user);

  // Of how many tokens something is remembered.
  size_t tokens() const;

 private:
  struct Bucket {
    double left = 0;
    absl::Time at;  // when it was so
  };
  double burst() const { return 2 * options_.requests_per_second; }
  double LeftAt(const Bucket& bucket, absl::Time now) const;
  // REQUIRES the lock. Those that are full again say nothing.
  void Forget(absl::Time now);

  const LimitOptions options_;
  mutable std::mutex mutex_;
  std::map<std::string, Bucket> buckets_;
  size_t forget_at_ = 1024;  // of how many tokens, the full ones are forgotten
  std::map<model::UserId, int> streams_;
};

}  // namespace det::auth

#endif  // MASTER_AUTH_CALL_LIMITS_H_
