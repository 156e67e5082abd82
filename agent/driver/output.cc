#include "agent/driver/output.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace det::agent {
namespace {

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The length of the UTF-8 character that `text` begins with; 0 if it begins with none.
size_t CharLength(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first == 0 ? 0 : 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(text[i])) return 0;
  }
  // Overlong forms, halves of surrogates, and what lies beyond Unicode.
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) > 0x9F) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

std::optional<LogLevel> LevelOf(absl::string_view word) {
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

// The letters that `text` begins with.
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

// Takes "[...]" off the front if it stands there.
std::optional<absl::string_view> TakeBracket(absl::string_view& text) {
  if (text.empty() || text[0] != '[') return std::nullopt;
  const size_t end = text.find(']');
  if (end == absl::string_view::npos) return std::nullopt;
  const absl::string_view inside = text.substr(1, end - 1);
  text.remove_prefix(end + 1);
  return inside;
}

// The level that the line's prefix says, if one does.
std::optional<LogLevel> SaidLevel(absl::string_view text) {
  bool after_time = false;
  // A prefix of more parts than this is no prefix.
  for (int part = 0; part < 5; ++part) {
    text = absl::StripLeadingAsciiWhitespace(text);
    if (const auto inside = TakeBracket(text)) {
      for (const absl::string_view word : absl::StrSplit(*inside, absl::ByAnyChar(" :,|"))) {
        if (const auto level = LevelOf(word)) return *level;
      }
      after_time = true;
      continue;
    }
    const absl::string_view word = Word(text);
    if (const auto level = LevelOf(word)) {
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

// What programs write as they die, without a level.
constexpr absl::string_view kLastWords[] = {
    "terminate called ", "what():  ", "Fatal Python error:", "Segmentation fault"};

// "ValueError: x", "torch.OutOfMemoryError: x", "Error: x".
bool NamesException(absl::string_view text) {
  const size_t end = text.find(": ");
  if (end == absl::string_view::npos) return false;
  const absl::string_view name = text.substr(0, end);
  for (const char c : name) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '.') return false;
  }
  return absl::EndsWith(name, "Error") || absl::EndsWith(name, "Exception");
}

std::optional<LogLevel> LevelInWords(absl::string_view text) {
  if (const auto level = SaidLevel(text)) return level;
  text = absl::StripLeadingAsciiWhitespace(text);
  for (const absl::string_view words : kLastWords) {
    if (absl::StartsWith(text, words)) return LogLevel::kError;
  }
  if (NamesException(text)) return LogLevel::kError;
  return std::nullopt;
}

// The line without the "[rank3]: " that torch writes before each line of a traceback.
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
  parsed.level = LevelOfLine({stream, parsed.rank}, WithoutTorchRank(line));
  parsed.text = ToValidText(line);
  return parsed;
}

LogLevel OutputReader::LevelOfLine(const Writer& writer, absl::string_view text) {
  if (BeginsTraceback(text)) {
    tracebacks_.insert(writer);
    return LogLevel::kError;
  }
  const bool inside = tracebacks_.contains(writer);
  if (inside && !text.empty() && absl::ascii_isspace(text[0])) return LogLevel::kError;
  if (inside) tracebacks_.erase(writer);
  const bool ends_traceback = inside && !text.empty();
  return LevelInWords(text).value_or(ends_traceback ? LogLevel::kError : LogLevel::kInfo);
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
