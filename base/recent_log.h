// The newest lines that this process has logged (base/log.h), kept in memory for those who cannot
// read where it writes: MasterService.MasterLogs. Lost with the process.
// Any thread.
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

struct RecentLine {
  int64_t id = 0;  // from 1, rising by one
  absl::Time time;
  LogLevel level = LogLevel::kInfo;
  std::string text;  // with its fields, without time and level
};

// At most so many, and so many bytes of text; the oldest go.
inline constexpr size_t kRecentLines = 10'000;
inline constexpr size_t kRecentBytes = 8 << 20;

// Those with ids of `from` and above, oldest first, at most `limit`.
std::vector<RecentLine> RecentLog(int64_t from, size_t limit);

// The id of the newest; 0: there was none yet.
int64_t NewestLogLine();

// Called after each line, on its thread; must not log. One at a time: the last that was given.
// Null: nobody. It may be called once more while it is taken away.
void OnLogLine(std::function<void()> listener);

namespace internal {
void KeepLine(LogLevel level, std::string text);
}  // namespace internal

}  // namespace det::base

#endif  // BASE_RECENT_LOG_H_
