#include "base/recent_log.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/time/clock.h"

namespace det::base {
namespace {

// Longer lines are truncated.
constexpr size_t kMaxLineLength = 16 << 10;

struct Recent {
  std::mutex mutex;
  std::deque<RecentLogLine> lines;
  size_t bytes = 0;
  int64_t newest = 0;
  std::shared_ptr<const std::function<void()>> listener;
};

// Never destroyed, because destructors of other static objects may log.
Recent& GetRecent() {
  static auto* const recent = new Recent;
  return *recent;
}

}  // namespace

std::vector<RecentLogLine> GetRecentLog(int64_t from, size_t limit) {
  Recent& recent = GetRecent();
  std::lock_guard lock(recent.mutex);
  std::vector<RecentLogLine> found;
  const auto first =
      std::lower_bound(recent.lines.begin(), recent.lines.end(), from,
                       [](const RecentLogLine& line, int64_t id) { return line.id < id; });
  for (auto line = first; line != recent.lines.end() && found.size() < limit; ++line) {
    found.push_back(*line);
  }
  return found;
}

int64_t GetNewestLogLineId() {
  Recent& recent = GetRecent();
  std::lock_guard lock(recent.mutex);
  return recent.newest;
}

void SetLogListener(std::function<void()> listener) {
  auto next = listener == nullptr
                  ? nullptr
                  : std::make_shared<const std::function<void()>>(std::move(listener));
  Recent& recent = GetRecent();
  std::lock_guard lock(recent.mutex);
  recent.listener = std::move(next);
}

namespace internal {

void RecordRecentLine(LogLevel level, std::string text) {
  if (text.size() > kMaxLineLength) text.resize(kMaxLineLength);
  Recent& recent = GetRecent();
  std::shared_ptr<const std::function<void()>> listener;
  {
    std::lock_guard lock(recent.mutex);
    recent.bytes += text.size();
    recent.lines.push_back({++recent.newest, absl::Now(), level, std::move(text)});
    while (recent.lines.size() > kMaxRecentLogLines || recent.bytes > kMaxRecentLogBytes) {
      recent.bytes -= recent.lines.front().text.size();
      recent.lines.pop_front();
    }
    listener = recent.listener;
  }
  if (listener != nullptr) (*listener)();
}

}  // namespace internal
}  // namespace det::base
