#include "proto/http_path.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace det::proto {
namespace {

absl::StatusOr<PathSegment> ParseSegment(absl::string_view text) {
  PathSegment segment;
  if (text.empty() || text.front() != '{') {
    if (text.empty() || text.find_first_of("{}*") != absl::string_view::npos) {
      return absl::InvalidArgumentError(absl::StrCat("segment \"", text, "\" is not supported"));
    }
    segment.literal = std::string(text);
    return segment;
  }
  if (text.back() != '}') {
    return absl::InvalidArgumentError(absl::StrCat("segment \"", text, "\" has no closing }"));
  }
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text.substr(1, text.size() - 2), absl::MaxSplits('=', 1));
  segment.field = std::string(parts.first);
  segment.rest = parts.second == "**";
  if (segment.field.empty() || (!segment.rest && !parts.second.empty() && parts.second != "*")) {
    return absl::InvalidArgumentError(absl::StrCat("segment \"", text, "\" is not supported"));
  }
  return segment;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

absl::StatusOr<std::vector<PathSegment>> ParsePathTemplate(std::string_view text) {
  const absl::string_view path(text.data(), text.size());
  if (path.empty() || path.front() != '/') {
    return absl::InvalidArgumentError(
        absl::StrCat("path template \"", path, "\" does not start with /"));
  }
  std::vector<PathSegment> segments;
  if (path == "/") return segments;
  for (absl::string_view part : absl::StrSplit(path.substr(1), '/')) {
    absl::StatusOr<PathSegment> segment = ParseSegment(part);
    if (!segment.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("path template \"", path, "\": ", segment.status().message()));
    }
    if (!segments.empty() && segments.back().rest) {
      return absl::InvalidArgumentError(
          absl::StrCat("path template \"", path, "\": ** must come last"));
    }
    segments.push_back(*std::move(segment));
  }
  return segments;
}

std::string PercentEncode(std::string_view text, std::string_view keep) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || c == '-' || c == '.' || c == '_' || c == '~' ||
        keep.find(c) != std::string_view::npos) {
      out.push_back(c);
    } else {
      out.push_back('%');
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    }
  }
  return out;
}

std::string PercentDecode(std::string_view text, bool query) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && query) {
      out.push_back(' ');
    } else if (text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 &&
               HexDigit(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> ParseQuery(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> out;
  for (absl::string_view item :
       absl::StrSplit(absl::string_view(query.data(), query.size()), '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(item, absl::MaxSplits('=', 1));
    const auto decode = [](absl::string_view text) {
      return PercentDecode(std::string_view(text.data(), text.size()), /*query=*/true);
    };
    out.emplace_back(decode(parts.first), decode(parts.second));
  }
  return out;
}

}  // namespace det::proto
