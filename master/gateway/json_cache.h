// A cache of the JSON of messages that many streams send at the same time.
//
// Any thread. Small messages are not cached, since the lookup costs as much as the conversion.
#ifndef MASTER_GATEWAY_JSON_CACHE_H_
#define MASTER_GATEWAY_JSON_CACHE_H_

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"

namespace det::gateway {

class JsonCache {
 public:
  // Size in bytes of a serialized message that is cached.
  static constexpr size_t kMinSize = 512, kMaxSize = 256 << 10;

  using Text = std::shared_ptr<const std::string>;
  // Like Transcoder::Write.
  absl::StatusOr<Text> Write(const google::protobuf::Descriptor& output, std::string_view message);

 private:
  struct Entry {
    const google::protobuf::Descriptor* output = nullptr;
    std::string message;
    Text json;
  };

  std::mutex mutex_;
  std::array<Entry, 16> entries_;  // a ring buffer
  size_t next_ = 0;
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_JSON_CACHE_H_
