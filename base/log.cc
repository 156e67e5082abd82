#include "base/log.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/log_level.h"
#include "base/recent_log.h"
#include <nlohmann/json.hpp>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace det::base {
namespace {

std::atomic<bool> g_json{false};
std::atomic<LogLevel> g_level{LogLevel::kInfo};

// Never destroyed: other static objects may log while they are.
spdlog::logger& Logger() {
  static auto* const logger = [] {
    auto* made = new spdlog::logger("det", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%v");
    made->set_level(spdlog::level::trace);
    return made;
  }();
  return *logger;
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  std::abort();
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
  // Not a number in JSON: "nan" and "inf"; they stay text.
  auto value = nlohmann::ordered_json::parse(field.value, nullptr, false);
  if (value.is_discarded()) return field.value;
  return value;
}

std::string JsonLine(LogLevel level, const std::string& place, const std::string& text,
                     const std::vector<LogField>& fields) {
  nlohmann::ordered_json line = {
      {"time", Now()}, {"level", Name(level)}, {"message", text}, {"source", place}};
  for (const LogField& field : fields) line[field.key] = ToJson(field);
  // A child's output may hold bytes that are no UTF-8; they must not cost the line.
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

LogLevel CurrentLogLevel() { return g_level; }

bool LogEnabled(LogLevel level) { return level >= g_level.load(std::memory_order_relaxed); }

namespace internal {

LogLine::~LogLine() {
  try {
    const std::string place = absl::StrCat(std::string(FileName(file_)), ":", line_);
    const std::string line = g_json ? JsonLine(level_, place, text_.str(), fields_)
                                    : HumanLine(level_, place, text_.str(), fields_);
    Logger().log(ToSpdlog(level_), spdlog::string_view_t(line.data(), line.size()));
    KeepLine(level_, TextWithFields(place, text_.str(), fields_));
  } catch (const std::exception&) {
    // No line is worth the process.
  }
}

}  // namespace internal
}  // namespace det::base
