// The log of a process: a message and key-value fields per line, on stderr, as text or as JSON.
// Called by every folder that is not PURE, on any thread. Never throws and never ends the process.
//
//   DET_LOG(INFO) << "trial started" << base::Field("trial", 7) << base::Field("agent", name);
//   2025-01-31T09:00:00.000Z INFO  trial started trial=7 agent=a1 (trial.cc:12)
#ifndef BASE_LOG_H_
#define BASE_LOG_H_

#include <concepts>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace det::base {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

struct LogOptions {
  bool json = false;
  LogLevel level = LogLevel::kInfo;
};

// Sets the format and the minimum level. May be called again; the defaults apply before the first
// call.
void InitLog(const LogOptions& options);

// Changes the minimum level that InitLog() set, while the process runs.
void SetLogLevel(LogLevel level);
LogLevel GetLogLevel();

bool LogEnabled(LogLevel level);

// A named value; created by Field().
struct LogField {
  std::string key;
  std::string value;
  bool quoted = true;  // Whether JSON quotes the value: false for numbers and booleans.
};

// `value` is a number, a bool, or anything with operator<<.
template <class T>
LogField Field(std::string_view key, const T& value) {
  if constexpr (std::same_as<T, bool>) {
    return {std::string(key), value ? "true" : "false", false};
  } else {
    std::ostringstream text;
    text << value;
    return {std::string(key), std::move(text).str(),
            !std::is_arithmetic_v<T> || std::same_as<T, char>};
  }
}

namespace internal {

// A line under construction; the destructor writes it.
class LogLine {
 public:
  LogLine(LogLevel level, const char* file, int line) : level_(level), file_(file), line_(line) {}
  LogLine(const LogLine&) = delete;
  LogLine& operator=(const LogLine&) = delete;
  ~LogLine();

  LogLine& self() { return *this; }

  template <class T>
  LogLine& operator<<(const T& value) {
    text_ << value;
    return *this;
  }
  LogLine& operator<<(LogField field) {
    fields_.push_back(std::move(field));
    return *this;
  }

 private:
  const LogLevel level_;
  const char* const file_;
  const int line_;
  std::ostringstream text_;
  std::vector<LogField> fields_;
};

// Makes both branches of ?: void. The operator binds weaker than << and stronger than ?:.
struct VoidifyLog {
  void operator&(LogLine&) const {}
};

}  // namespace internal
}  // namespace det::base

#define DET_LOG_LEVEL_DEBUG_ ::det::base::LogLevel::kDebug
#define DET_LOG_LEVEL_INFO_ ::det::base::LogLevel::kInfo
#define DET_LOG_LEVEL_WARNING_ ::det::base::LogLevel::kWarning
#define DET_LOG_LEVEL_ERROR_ ::det::base::LogLevel::kError

// `severity` is DEBUG, INFO, WARNING or ERROR. The operands of << are not evaluated when the level
// is disabled.
#define DET_LOG(severity)                               \
  !::det::base::LogEnabled(DET_LOG_LEVEL_##severity##_) \
      ? (void)0                                         \
      : ::det::base::internal::VoidifyLog() &           \
            ::det::base::internal::LogLine(DET_LOG_LEVEL_##severity##_, __FILE__, __LINE__).self()

#endif  // BASE_LOG_H_
