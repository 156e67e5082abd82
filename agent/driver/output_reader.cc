#include "agent/driver/output_reader.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/utf8.h"

namespace det::agent {
namespace {

// Returns the length of the UTF-8 character at the beginning of `text`; 0 if there is none.
size_t CharLength(absl::string_view text) {
  return base::Utf8Length(std::string_view(text.data(), text.size()));
}

std::optional<LogLevel> ParseLevel(absl::string_view word) {
  static constexpr std::pair<absl::string_view, LogLevel> kNames[] = {
      {"TRACE", LogLevel::kTrace},       {"DEBUG", LogLevel::kDebug},
      {"INFO", LogLevel::kInfo},         {"WARNING", LogLevel::kWarning},
      {"WARN", LogLevel::kWarning},      {"ERROR", LogLevel::kError},
      {"CRITICAL", LogLevel::kCritical}, {"FATAL", LogLevel::kCritical},
  };
  for (const auto& [name, level] : kNames) {
    if (word == name) return level;
  }
  return std::nullopt;
}

// Returns the leading capital letters of `text`.
absl::string_view Word(absl::string_view text) {
  size_t length = 0;
  while (length < text.size() && absl::ascii_isupper(text[length])) ++length;
  return text.substr(0, length);
}

// "2024-05-01", "12:00:00,123", "2024-05-01T12:00:00Z".
bool IsTime(absl::string_view token) {
  if (token.size() < 5 || !absl::ascii_isdigit(token[0])) return false;
  bool separated = false;
  for (const char c : token) {
    if (c == '-' || c == ':' || c == '/') separated = true;
    if (!absl::ascii_isdigit(c) && !absl::StrContains("-:/.,TZ+", std::string(1, c))) return false;
  }
  return separated;
}

// Removes a leading "[...]" and returns its content.
std::optional<absl::string_view> TakeBracket(absl::string_view& text) {
  if (text.empty() || text[0] != '[') return std::nullopt;
  const size_t end = text.find(']');
  if (end == absl::string_view::npos) return std::nullopt;
  const absl::string_view inside = text.substr(1, end - 1);
  text.remove_prefix(end + 1);
  return inside;
}

// Returns the level in the line's prefix, if there is one.
std::optional<LogLevel> ParsePrefixLevel(absl::string_view text) {
  bool after_time = false;
  // A prefix has at most five parts.
  for (int part = 0; part < 5; ++part) {
    text = absl::StripLeadingAsciiWhitespace(text);
    if (const auto inside = TakeBracket(text)) {
      for (const absl::string_view word : absl::StrSplit(*inside, absl::ByAnyChar(" :,|"))) {
        if (const auto level = ParseLevel(word)) return *level;
      }
      after_time = true;
      continue;
    }
    const absl::string_view word = Word(text);
    if (const auto level = ParseLevel(word)) {
      const char next = word.size() < text.size() ? text[word.size()] : '\0';
      if (next == ':' || (after_time && !absl::ascii_isalnum(next))) return *level;
    }
    const absl::string_view token = text.substr(0, text.find(' '));
    if (!IsTime(token) && !(after_time && (token == "-" || token == "|"))) break;
    after_time = true;
    text.remove_prefix(token.size());
  }
  return std::nullopt;
}

// Messages without a level that programs write when they crash.
constexpr absl::string_view kCrashMessages[] = {
    "terminate called ", "what():  ", "Fatal Python error:", "Segmentation fault"};

// "ValueError: x", "torch.OutOfMemoryError: x", "Error: x".
bool StartsWithException(absl::string_view text) {
  const size_t end = text.find(": ");
  if (end == absl::string_view::npos) return false;
  const absl::string_view name = text.substr(0, end);
  for (const char c : name) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '.') return false;
  }
  return absl::EndsWith(name, "Error") || absl::EndsWith(name, "Exception");
}

std::optional<LogLevel> InferLevel(absl::string_view text) {
  if (const auto level = ParsePrefixLevel(text)) return level;
  text = absl::StripLeadingAsciiWhitespace(text);
  for (const absl::string_view words : kCrashMessages) {
    if (absl::StartsWith(text, words)) return LogLevel::kError;
  }
  if (StartsWithException(text)) return LogLevel::kError;
  return std::nullopt;
}

// Removes the "[rank3]: " that torch writes before each line of a traceback.
absl::string_view WithoutTorchRank(absl::string_view text) {
  if (!absl::StartsWith(text, "[rank")) return text;
  const size_t end = text.find("]: ");
  return end == absl::string_view::npos ? text : text.substr(end + 3);
}

bool BeginsTraceback(absl::string_view text) {
  return absl::EndsWith(absl::StripTrailingAsciiWhitespace(text),
                        "Traceback (most recent call last):");
}

std::optional<int> TakeRank(absl::string_view& text) {
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, "[rank=")) return std::nullopt;
  const size_t end = rest.find(']');
  int rank = 0;
  if (end == absl::string_view::npos || !absl::SimpleAtoi(rest.substr(0, end), &rank) || rank < 0) {
    return std::nullopt;
  }
  rest.remove_prefix(end + 1);
  if (!rest.empty() && !absl::ConsumePrefix(&rest, " ")) return std::nullopt;
  text = rest;
  return rank;
}

}  // namespace

OutputLine OutputReader::Read(OutputStream stream, absl::string_view line) {
  OutputLine parsed;
  parsed.rank = TakeRank(line);
  parsed.level = ClassifyLine({stream, parsed.rank}, WithoutTorchRank(line));
  parsed.text = ToValidText(line);
  return parsed;
}

LogLevel OutputReader::ClassifyLine(const Writer& writer, absl::string_view text) {
  if (BeginsTraceback(text)) {
    tracebacks_.insert(writer);
    return LogLevel::kError;
  }
  const bool inside = tracebacks_.contains(writer);
  if (inside && !text.empty() && absl::ascii_isspace(text[0])) return LogLevel::kError;
  if (inside) tracebacks_.erase(writer);
  const bool ends_traceback = inside && !text.empty();
  return InferLevel(text).value_or(ends_traceback ? LogLevel::kError : LogLevel::kInfo);
}

std::string ToValidText(absl::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const size_t length = CharLength(text);
    if (length == 0) {
      valid += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    } else {
      valid.append(text.data(), length);
      text.remove_prefix(length);
    }
  }
  return valid;
}

}  // namespace det::agent
