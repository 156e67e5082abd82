// The newest lines that this process has logged (base/log.h), kept in memory for
// MasterService.MasterLogs, whose callers cannot read the process's stderr. Lost when the process
// ends. Any thread.
#ifndef BASE_RECENT_LOG_H_
#define BASE_RECENT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/log.h"

namespace det::base {

struct RecentLogLine {
  int64_t id = 0;  // starts at 1 and increases by one
  absl::Time time;
  LogLevel level = LogLevel::kInfo;
  std::string text;  // message and fields, without time and level
};

// The maximum number of lines and bytes of text that are kept; the oldest lines are dropped.
inline constexpr size_t kMaxRecentLogLines = 10'000;
inline constexpr size_t kMaxRecentLogBytes = 8 << 20;

// Returns at most `limit` lines with ids >= `from`, oldest first.
std::vector<RecentLogLine> GetRecentLog(int64_t from, size_t limit);

// Returns the id of the newest line; 0 if there is none yet.
int64_t GetNewestLogLineId();

// Sets a function that is called after each line, on the thread that logs; it must not log.
// Replaces the previous listener; null removes it. A removed listener may be called once more while
// it is being replaced.
void SetLogListener(std::function<void()> listener);

namespace internal {
void RecordRecentLine(LogLevel level, std::string text);
}  // namespace internal

}  // namespace det::base

#endif  // BASE_RECENT_LOG_H_
