#include "agent/keeper/segments.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace det::agent {

std::string SegmentName(int64_t first) { return absl::StrCat("output.", first); }

std::optional<int64_t> ParseSegmentName(absl::string_view name) {
  int64_t first = 0;
  if (!absl::ConsumePrefix(&name, "output.") || !absl::SimpleAtoi(name, &first) || first <= 0) {
    return std::nullopt;
  }
  return first;
}

int64_t GetSegmentSize(int64_t limit) { return std::clamp<int64_t>(limit / 4, 1, 1 << 20); }

size_t CountOverLimit(const std::vector<Segment>& segments, int64_t limit) {
  int64_t bytes = 0;
  for (const Segment& segment : segments) bytes += segment.bytes;
  size_t count = 0;
  while (count + 1 < segments.size() && bytes > limit) bytes -= segments[count++].bytes;
  return count;
}

size_t CountDelivered(const std::vector<Segment>& segments, int64_t sequence) {
  size_t count = 0;
  while (count + 1 < segments.size() && segments[count + 1].first <= sequence + 1) ++count;
  return count;
}

}  // namespace det::agent
