#include "base/log.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/recent_log.h"
#include <nlohmann/json.hpp>

namespace det::base {
namespace {

std::atomic<bool> g_json{false};
std::atomic<LogLevel> g_level{LogLevel::kInfo};

// Writes one line to stderr with a single call, so that lines of several threads do not mix.
void WriteLine(std::string line) {
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

std::string_view Name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "DEBUG";
    case LogLevel::kInfo:
      return "INFO";
    case LogLevel::kWarning:
      return "WARNING";
    case LogLevel::kError:
      return "ERROR";
  }
  std::abort();
}

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string Now() {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone());
}

nlohmann::ordered_json ToJson(const LogField& field) {
  if (field.quoted) return field.value;
  // "nan" and "inf" are not numbers in JSON, so they are written as strings.
  auto value = nlohmann::ordered_json::parse(field.value, nullptr, false);
  if (value.is_discarded()) return field.value;
  return value;
}

std::string JsonLine(LogLevel level, const std::string& place, const std::string& text,
                     const std::vector<LogField>& fields) {
  nlohmann::ordered_json line = {
      {"time", Now()}, {"level", Name(level)}, {"message", text}, {"source", place}};
  for (const LogField& field : fields) line[field.key] = ToJson(field);
  // The output of a child process may not be UTF-8; invalid bytes are replaced, not fatal.
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string TextWithFields(const std::string& place, const std::string& text,
                           const std::vector<LogField>& fields) {
  std::string line = text;
  for (const LogField& field : fields) {
    const bool plain = field.value.find_first_of(" \"\n\t=") == std::string::npos;
    absl::StrAppend(&line, " ", field.key, "=");
    absl::StrAppend(&line,
                    plain && !field.value.empty()
                        ? field.value
                        : nlohmann::json(field.value)
                              .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  absl::StrAppend(&line, " (", place, ")");
  return line;
}

std::string HumanLine(LogLevel level, const std::string& place, const std::string& text,
                      const std::vector<LogField>& fields) {
  std::string line = absl::StrCat(Now(), " ", std::string(Name(level)));
  line.resize(std::max(line.size(), size_t{32}), ' ');
  absl::StrAppend(&line, " ", TextWithFields(place, text, fields));
  return line;
}

}  // namespace

void InitLog(const LogOptions& options) {
  g_json = options.json;
  g_level = options.level;
}

void SetLogLevel(LogLevel level) { g_level = level; }

LogLevel GetLogLevel() { return g_level; }

bool LogEnabled(LogLevel level) { return level >= g_level.load(std::memory_order_relaxed); }

namespace internal {

LogLine::~LogLine() {
  try {
    const std::string place = absl::StrCat(std::string(FileName(file_)), ":", line_);
    const std::string line = g_json ? JsonLine(level_, place, text_.str(), fields_)
                                    : HumanLine(level_, place, text_.str(), fields_);
    WriteLine(line);
    RecordRecentLine(level_, TextWithFields(place, text_.str(), fields_));
  } catch (const std::exception&) {
    // A log line must never end the process.
  }
}

}  // namespace internal
}  // namespace det::base
