#include "master/auth/rate_limiter.h"

#include <algorithm>

namespace det::auth {

double RateLimiter::LeftAt(const Bucket& bucket, absl::Time now) const {
  const double seconds = std::max(0.0, absl::ToDoubleSeconds(now - bucket.at));
  return std::min(burst(), bucket.left + seconds * options_.requests_per_second);
}

std::optional<absl::Duration> RateLimiter::Take(const std::string& token, absl::Time now) {
  std::lock_guard lock(mutex_);
  if (buckets_.size() >= forget_at_) Forget(now);
  Bucket& bucket = buckets_.try_emplace(token, Bucket{burst(), now}).first->second;
  const double left = LeftAt(bucket, now);
  if (left < 1) return absl::Seconds((1 - left) / options_.requests_per_second);
  // A clock that was set back must not refill the bucket for the same time twice.
  bucket = {left - 1, std::max(now, bucket.at)};
  return std::nullopt;
}

void RateLimiter::Forget(absl::Time now) {
  std::erase_if(buckets_, [&](const auto& item) { return LeftAt(item.second, now) >= burst(); });
  forget_at_ = std::max<size_t>(1024, 2 * buckets_.size());
}

bool RateLimiter::OpenStream(model::UserId user) {
  std::lock_guard lock(mutex_);
  int& open = streams_[user];
  if (open >= options_.streams_per_user) return false;
  ++open;
  return true;
}

void RateLimiter::CloseStream(model::UserId user) {
  std::lock_guard lock(mutex_);
  const auto it = streams_.find(user);
  if (it != streams_.end() && --it->second <= 0) streams_.erase(it);
}

size_t RateLimiter::tokens() const {
  std::lock_guard lock(mutex_);
  return buckets_.size();
}

}  // namespace det::auth
