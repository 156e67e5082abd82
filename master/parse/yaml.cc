// The only file that includes yaml-cpp.
#include "yaml-cpp/yaml.h"

#include <charconv>
#include <cmath>
#include <exception>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "master/parse/config_node.h"
#include "yaml-cpp/eventhandler.h"
#include <re2/re2.h>

namespace det::model {
namespace {

// Aliases can make a small text enormous or infinite.
constexpr int kMaxNodes = 100'000;
// A deeper configuration could be stored but not read: protobuf limits nesting to 100 messages, a
// level of a Struct is three, and responses add levels.
constexpr int kMaxDepth = 25;

// Returns the first byte that is not part of valid UTF-8, or is NUL, which the database cannot
// store.
std::optional<size_t> FirstBadByte(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = text[i] == '\0' ? 0 : base::Utf8Length(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

// Handles only the starts of documents.
class DocumentStarts : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { line = mark.line + 1; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

  int line = 0;
};

// Returns the line of the second document; 0 if there is none. YAML::LoadAll does not return for a
// text such as ",", in which the library finds an infinite number of empty documents. The library
// finds a quote that is not closed only if the text does not end with a new line.
int FindSecondDocument(std::string_view text) {
  std::istringstream stream{
      std::string(absl::StripTrailingAsciiWhitespace({text.data(), text.size()}))};
  YAML::Parser parser(stream);
  DocumentStarts starts;
  for (int i = 0; i < 2; ++i) {
    if (!parser.HandleNextDocument(starts)) return 0;
  }
  return starts.line;
}

// Parses the digits of an integer without sign and underscores. Beyond 64 bits a double is the
// closest representation.
Value ParseDigits(const std::string& digits, bool negative, int base) {
  int64_t value = 0;
  const std::string text = absl::StrCat(negative ? "-" : "", digits);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error == std::errc()) return Value(value);
  double large = 0;
  if (base == 10 && absl::SimpleAtod(text, &large)) return Value(large);
  for (const char digit : absl::AsciiStrToLower(digits)) {
    large = large * base + (digit >= 'a' ? digit - 'a' + 10 : digit - '0');
  }
  return Value(negative ? -large : large);
}

// Parses an unquoted scalar as existing clients do: by the core schema of YAML 1.2, with
// underscores in numbers, signs of hexadecimal and octal integers, and binary integers. Times
// remain text.
Value ParsePlain(const std::string& text) {
  if (text == "true" || text == "True" || text == "TRUE") return Value(true);
  if (text == "false" || text == "False" || text == "FALSE") return Value(false);
  if (text.empty() || std::string_view("+-.0123456789").find(text[0]) == std::string_view::npos) {
    return Value(text);
  }
  static const RE2& integer = *new RE2(
      "[-+]?(?:0b_*[01][01_]*|0o_*[0-7][0-7_]*|0x_*[0-9a-fA-F][0-9a-fA-F_]*|_*[0-9][0-9_]*)");
  static const RE2& real =
      *new RE2("[-+]?(?:[0-9][0-9_]*(?:\\.[0-9_]*)?|\\._*[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?");
  static const RE2& special = *new RE2("[-+]?\\.(?:inf|Inf|INF)|\\.(?:nan|NaN|NAN)");
  if (RE2::FullMatch(text, special)) return Value(std::numeric_limits<double>::quiet_NaN());
  std::string digits = absl::StrReplaceAll(text, {{"_", ""}});
  if (RE2::FullMatch(text, integer)) {
    const bool negative = digits[0] == '-';
    if (digits[0] == '-' || digits[0] == '+') digits.erase(0, 1);
    const std::string_view prefix = std::string_view(digits).substr(0, 2);
    const int base = prefix == "0b" ? 2 : prefix == "0o" ? 8 : prefix == "0x" ? 16 : 10;
    return ParseDigits(digits.substr(base == 10 ? 0 : 2), negative, base);
  }
  double value = 0;
  if (!RE2::FullMatch(text, real) || !absl::SimpleAtod(digits, &value)) return Value(text);
  return Value(value);
}

// Parses a scalar with the tag of the library: "?" for an unquoted and "!" for a quoted scalar
// without a tag. Returns nullopt for a tag that is not supported or does not fit the text.
std::optional<Value> ParseScalar(const std::string& text, std::string_view tag) {
  if (tag == "?" || tag.empty()) return ParsePlain(text);
  if (tag == "!") return Value(text);
  if (!tag.starts_with("tag:yaml.org,2002:")) return std::nullopt;
  tag.remove_prefix(tag.rfind(':') + 1);
  if (tag == "str" || tag == "timestamp") return Value(text);
  if (tag == "null") return Value();
  const Value plain = ParsePlain(text);
  if (tag == "float" && plain.AsNumber()) return Value(*plain.AsNumber());
  if (tag == "int" && plain.AsInt() != nullptr) return plain;
  if (tag != "bool") return std::nullopt;
  const std::string word = absl::AsciiStrToLower(text);
  if (word == "true" || word == "yes" || word == "on") return Value(true);
  if (word == "false" || word == "no" || word == "off") return Value(false);
  return std::nullopt;
}

bool IsCollectionTag(std::string_view tag, bool is_map) {
  return tag.empty() || tag == "?" || tag == "!" ||
         tag == (is_map ? "tag:yaml.org,2002:map" : "tag:yaml.org,2002:seq");
}

class Reader {
 public:
  Reader(std::string source, bool with_lines)
      : source_(std::move(source)), with_lines_(with_lines) {}

  absl::StatusOr<ConfigNode> Read(std::string_view text) {
    if (const auto bad = FirstBadByte(text)) {
      return Error(GetLine(text, *bad), "not UTF-8 text; save the file as UTF-8");
    }
    try {
      if (const int second = FindSecondDocument(text)) {
        return Error(second, "a second YAML document starts here; keep only one");
      }
      return Convert(YAML::Load(std::string(text)), 1, 0);
    } catch (const YAML::Exception& error) {
      return Error(error.mark.line + 1, absl::StrCat("not valid YAML: ", error.msg));
    } catch (const std::exception& error) {
      return Error(0, absl::StrCat("not valid YAML: ", error.what()));
    }
  }

 private:
  std::string Where(int line) const {
    return with_lines_ && line > 0 ? absl::StrCat(source_, ":", line) : source_;
  }
  absl::Status Error(int line, std::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(Where(line), ": ", std::string(what)));
  }
  static int GetLine(std::string_view text, size_t position) {
    int line = 1;
    for (size_t i = 0; i < position; ++i) line += text[i] == '\n' ? 1 : 0;
    return line;
  }
  ConfigNode Null(int line) const {
    ConfigNode node;
    node.where = Where(line);
    return node;
  }

  // `line` is that of the parent, for nodes without a position.
  absl::StatusOr<ConfigNode> Convert(const YAML::Node& yaml, int line, int depth) {
    if (yaml.Mark().line >= 0) line = yaml.Mark().line + 1;
    if (depth > kMaxDepth) {
      return Error(line, absl::StrCat("nested deeper than ", kMaxDepth, " levels; flatten it"));
    }
    if (++nodes_ > kMaxNodes) {
      return Error(line, absl::StrCat("more than ", kMaxNodes, " values; make it smaller"));
    }
    ConfigNode node = Null(line);
    if ((yaml.IsMap() || yaml.IsSequence()) && !IsCollectionTag(yaml.Tag(), yaml.IsMap())) {
      return Error(line, absl::StrCat("the tag ", yaml.Tag(), " is not supported; remove it"));
    }
    switch (yaml.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        return node;
      case YAML::NodeType::Scalar:
        return ConvertScalar(yaml, std::move(node), line);
      case YAML::NodeType::Sequence:
        node.kind = ConfigNode::Kind::kList;
        for (const YAML::Node& item : yaml) {
          DET_ASSIGN_OR_RETURN(ConfigNode converted, Convert(item, line, depth + 1));
          node.items.push_back(std::move(converted));
        }
        return node;
      case YAML::NodeType::Map:
        break;
    }
    return ConvertMap(yaml, std::move(node), line, depth);
  }

  // Adds the map, or the maps of the list, that the key "<<" merges into the map that contains it.
  absl::Status TakeMerged(ConfigNode value, int line, std::vector<ConfigNode>& merged) const {
    std::vector<ConfigNode> maps = std::move(value.items);
    if (!value.is_list()) maps.push_back(std::move(value));
    for (ConfigNode& map : maps) {
      if (!map.is_map()) {
        return Error(line, absl::StrCat("expected a map or a list of maps after <<, found ",
                                        map.Describe()));
      }
      merged.push_back(std::move(map));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ConfigNode> ConvertMap(const YAML::Node& yaml, ConfigNode node, int line,
                                        int depth) {
    node.kind = ConfigNode::Kind::kMap;
    std::vector<ConfigNode> merged;
    for (const auto& pair : yaml) {
      const int key_line = pair.first.Mark().line >= 0 ? pair.first.Mark().line + 1 : line;
      if (!pair.first.IsScalar()) return Error(key_line, "a key must be plain text");
      const bool quoted = pair.first.Tag() == "!";
      std::string key = pair.first.Scalar();
      if (FirstBadByte(key)) return Error(key_line, "a key contains invalid characters");
      // The key 0x10 is the integer 16.
      if (const Value plain = ParsePlain(key); !quoted && plain.AsInt() != nullptr) {
        key = absl::StrCat(*plain.AsInt());
      }
      DET_ASSIGN_OR_RETURN(ConfigNode value, Convert(pair.second, key_line, depth + 1));
      if (key == "<<" && !quoted) {
        DET_RETURN_IF_ERROR(TakeMerged(std::move(value), key_line, merged));
        continue;
      }
      for (const ConfigMember& earlier : node.members) {
        if (earlier.key != key) continue;
        return Error(key_line,
                     absl::StrCat("duplicate key \"", key, "\", first at ", earlier.where));
      }
      node.members.push_back({std::move(key), Where(key_line), std::move(value)});
    }
    // The map's own members override merged ones, and earlier merges override later ones.
    for (ConfigNode& from : merged) {
      for (ConfigMember& member : from.members) {
        bool there = false;
        for (const ConfigMember& own : node.members) there = there || own.key == member.key;
        if (!there) node.members.push_back(std::move(member));
      }
    }
    return node;
  }

  absl::StatusOr<ConfigNode> ConvertScalar(const YAML::Node& yaml, ConfigNode node, int line) {
    const std::string& text = yaml.Scalar();
    if (FirstBadByte(text)) return Error(line, "a value contains invalid characters");
    const std::optional<Value> value = ParseScalar(text, yaml.Tag());
    if (!value) {
      return Error(line, absl::StrCat("the tag ", yaml.Tag(), " is not supported with the value \"",
                                      text, "\"; remove it"));
    }
    if (value->is_null()) return node;
    if (const double* number = value->AsDouble(); number != nullptr && !std::isfinite(*number)) {
      return Error(line, absl::StrCat(text, " is not a finite number; quote it if it is a string"));
    }
    node.kind = ConfigNode::Kind::kScalar;
    node.scalar = *value;
    return node;
  }

  std::string source_;
  bool with_lines_;
  int nodes_ = 0;
};

}  // namespace

absl::StatusOr<ConfigNode> ReadYaml(std::string_view text, const std::string& source,
                                    bool with_lines) {
  return Reader(source, with_lines).Read(text);
}

}  // namespace det::model
