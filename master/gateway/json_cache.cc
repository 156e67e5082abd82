#include "master/gateway/json_cache.h"

#include <utility>

#include "base/status_macros.h"
#include "master/gateway/transcoder.h"

namespace det::gateway {

absl::StatusOr<JsonCache::Text> JsonCache::Write(const google::protobuf::Descriptor& output,
                                                 std::string_view message) {
  const bool kept = message.size() >= kMinSize && message.size() <= kMaxSize;
  if (kept) {
    std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_) {
      if (entry.output == &output && entry.message == message) return entry.json;
    }
  }
  DET_ASSIGN_OR_RETURN(std::string made, Transcoder::Write(output, message));
  auto json = std::make_shared<const std::string>(std::move(made));
  if (kept) {
    Entry entry{&output, std::string(message), json};
    std::lock_guard lock(mutex_);
    // The evicted entry is destroyed after the lock is released.
    std::swap(entries_[next_], entry);
    next_ = (next_ + 1) % entries_.size();
  }
  return json;
}

}  // namespace det::gateway
