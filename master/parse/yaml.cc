// The only file that includes yaml-cpp.
#include "yaml-cpp/yaml.h"

#include <charconv>
#include <cmath>
#include <exception>
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
#include "base/status_macros.h"
#include "base/utf8.h"
#include "master/parse/config_node.h"
#include "yaml-cpp/eventhandler.h"

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
// text such as ",", in which the library finds an infinite number of empty documents.
int FindSecondDocument(std::string_view text) {
  std::istringstream stream{std::string(text)};
  YAML::Parser parser(stream);
  DocumentStarts starts;
  for (int i = 0; i < 2; ++i) {
    if (!parser.HandleNextDocument(starts)) return 0;
  }
  return starts.line;
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

  absl::StatusOr<ConfigNode> ConvertMap(const YAML::Node& yaml, ConfigNode node, int line,
                                        int depth) {
    node.kind = ConfigNode::Kind::kMap;
    std::vector<ConfigNode> merged;
    for (const auto& pair : yaml) {
      const int key_line = pair.first.Mark().line >= 0 ? pair.first.Mark().line + 1 : line;
      if (!pair.first.IsScalar()) return Error(key_line, "a key must be plain text");
      std::string key = pair.first.Scalar();
      if (FirstBadByte(key)) return Error(key_line, "a key contains invalid characters");
      DET_ASSIGN_OR_RETURN(ConfigNode value, Convert(pair.second, key_line, depth + 1));
      if (key == "<<") {
        if (value.is_map()) merged.push_back(std::move(value));
        for (ConfigNode& item : value.items) merged.push_back(std::move(item));
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
    const std::string& tag = yaml.Tag();
    if (FirstBadByte(text)) return Error(line, "a value contains invalid characters");
    node.kind = ConfigNode::Kind::kScalar;
    if (tag == "!" || tag == "tag:yaml.org,2002:str") {
      node.scalar = text;
      return node;
    }
    if (tag != "?" && !tag.empty() && tag != "tag:yaml.org,2002:int" &&
        tag != "tag:yaml.org,2002:float" && tag != "tag:yaml.org,2002:bool") {
      return Error(line, absl::StrCat("the tag ", tag, " is not supported; remove it"));
    }
    std::optional<Value> plain = ParsePlain(text);
    if (!plain) {
      return Error(line, absl::StrCat(text, " is not a finite number; quote it if it is a string"));
    }
    node.scalar = *std::move(plain);
    return node;
  }

  // Parses a scalar by the core schema of YAML 1.2; nullopt for NaN and the infinities.
  static std::optional<Value> ParsePlain(const std::string& text) {
    if (text == "true" || text == "True" || text == "TRUE") return Value(true);
    if (text == "false" || text == "False" || text == "FALSE") return Value(false);
    const size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    const std::string lower = absl::AsciiStrToLower(text.substr(sign));
    if (lower == ".inf" || (lower == ".nan" && sign == 0)) return std::nullopt;
    if (lower.empty() || !(absl::ascii_isdigit(lower[0]) || lower[0] == '.')) return Value(text);
    const int base = lower.starts_with("0x") ? 16 : lower.starts_with("0o") ? 8 : 10;
    if (base != 10) {
      const std::string digits = lower.substr(2);
      if (digits.empty()) return Value(text);
      int64_t value = 0;
      const char* end = digits.data() + digits.size();
      const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
      const bool good = sign == 0 && digits[0] != '-' && error == std::errc() && stop == end;
      return good ? Value(value) : Value(text);
    }
    if (lower.find_first_not_of("0123456789") == std::string::npos) {
      int64_t value = 0;
      if (absl::SimpleAtoi(text, &value)) return Value(value);
    }
    if (lower.find_first_not_of("0123456789.e+-") != std::string::npos) return Value(text);
    double value = 0;
    if (!absl::SimpleAtod(text, &value)) return Value(text);
    if (!std::isfinite(value)) return std::nullopt;
    return Value(value);
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
