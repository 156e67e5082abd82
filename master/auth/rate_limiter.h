// Rate limits: requests per second of a token, with a token bucket, and concurrent streams of a
// user. Tasks and agents are not limited.
//
// Called by api/authz/authorizer.h, on any thread. Reads no clock.
#ifndef MASTER_AUTH_RATE_LIMITER_H_
#define MASTER_AUTH_RATE_LIMITER_H_

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "master/core/model/ids.h"

namespace det::auth {

struct RateLimits {
  double requests_per_second = 1000;  // the burst is twice as many
  int streams_per_user = 100;
};

class RateLimiter {
 public:
  explicit RateLimiter(RateLimits options) : options_(options) {}

  // Returns nullopt if the call is allowed; otherwise the time after which it would be.
  std::optional<absl::Duration> Take(const std::string& token, absl::Time now);

  // Returns false if the user has the maximum number of streams. Every opened stream must be
  // closed.
  bool OpenStream(model::UserId user);
  void CloseStream(model::UserId user);

  // The number of tokens with a bucket.
  size_t tokens() const;

 private:
  struct Bucket {
    double left = 0;
    absl::Time at;  // time of `left`
  };
  double burst() const { return 2 * options_.requests_per_second; }
  double LeftAt(const Bucket& bucket, absl::Time now) const;
  // Drops full buckets, which are equal to new ones. REQUIRES the lock.
  void Forget(absl::Time now);

  const RateLimits options_;
  mutable std::mutex mutex_;
  std::map<std::string, Bucket> buckets_;
  size_t forget_at_ = 1024;  // number of buckets at which full ones are dropped
  std::map<model::UserId, int> streams_;
};

}  // namespace det::auth

#endif  // MASTER_AUTH_RATE_LIMITER_H_
