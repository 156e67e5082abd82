#include "master/app/config_overrides.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"

namespace det::app {
namespace {

using model::ConfigMember;
using model::ConfigNode;
using model::Field;
using model::FieldTable;
using model::Value;
using Role = Field::Role;

enum class Kind { kOther, kBool, kInteger, kNumber, kString, kList, kMap };

struct GetKind {
  Kind operator()(bool*) const { return Kind::kBool; }
  Kind operator()(int*) const { return Kind::kInteger; }
  Kind operator()(int64_t*) const { return Kind::kInteger; }
  Kind operator()(uint32_t*) const { return Kind::kInteger; }
  Kind operator()(std::optional<int>*) const { return Kind::kInteger; }
  Kind operator()(std::optional<int64_t>*) const { return Kind::kInteger; }
  Kind operator()(double*) const { return Kind::kNumber; }
  Kind operator()(std::optional<double>*) const { return Kind::kNumber; }
  Kind operator()(std::string*) const { return Kind::kString; }
  Kind operator()(std::vector<std::string>*) const { return Kind::kList; }
  Kind operator()(Value*) const { return Kind::kMap; }
  template <class T>
  Kind operator()(T) const {
    return Kind::kOther;
  }
};

Kind KindOf(const FieldTable& table, const Field& field) {
  if (field.role == Role::kList) return Kind::kList;
  return field.role == Role::kValue ? std::visit(GetKind{}, table.GetType(field)) : Kind::kOther;
}

std::optional<Value> ParseNumber(const ConfigNode& node, Kind kind) {
  if (node.AsString() == nullptr) return std::nullopt;
  int64_t integer = 0;
  if (absl::SimpleAtoi(*node.AsString(), &integer)) return Value(integer);
  double number = 0;
  if (kind == Kind::kNumber && absl::SimpleAtod(*node.AsString(), &number)) return Value(number);
  return std::nullopt;
}

void Convert(const FieldTable& table, const Field& field, ConfigNode& node) {
  std::optional<Value> value;
  const Kind kind = KindOf(table, field);
  if (kind == Kind::kBool) value = ReadBool(node);
  if (kind == Kind::kInteger || kind == Kind::kNumber) value = ParseNumber(node, kind);
  if (kind == Kind::kString && !field.secret && node.scalar.AsInt() != nullptr) {
    value = Value(absl::StrCat(*node.scalar.AsInt()));
  }
  if (kind == Kind::kString && field.choices != nullptr && node.AsString() != nullptr) {
    value = Value(absl::AsciiStrToLower(*node.AsString()));
  }
  if (value) node.scalar = *std::move(value);
}

void ConvertMap(const FieldTable& table, const std::string& place, ConfigNode& map) {
  for (ConfigMember& member : map.members) {
    const Field* field = table.Find(absl::StrCat(place, member.key));
    if (field == nullptr) continue;
    if (field->role == Role::kSection) {
      ConvertMap(table, absl::StrCat(field->path, "."), member.value);
    } else if (field->role == Role::kList) {
      for (ConfigNode& item : member.value.items) {
        ConvertMap(table, absl::StrCat(field->path, "[]."), item);
      }
    } else if (member.value.is_scalar()) {
      Convert(table, *field, member.value);
    }
  }
}

ConfigNode MakeScalar(std::string text, const std::string& source) {
  return model::FromValue(Value(std::move(text)), source);
}

absl::StatusOr<ConfigNode> MakeNode(Kind kind, const Override& override) {
  const absl::string_view text = absl::StripAsciiWhitespace(override.text);
  const bool flow = absl::StartsWith(text, "[") || absl::StartsWith(text, "{");
  if ((kind == Kind::kList || kind == Kind::kMap) && flow) {
    return model::ReadYaml({text.data(), text.size()}, override.source, /*with_lines=*/false);
  }
  if (kind != Kind::kList) return MakeScalar(override.text, override.source);
  ConfigNode list = model::FromValue(Value(Value::List()), override.source);
  if (text.empty()) return list;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    list.items.push_back(
        MakeScalar(std::string(absl::StripAsciiWhitespace(item)), override.source));
  }
  return list;
}

void Set(ConfigNode& map, absl::string_view path, ConfigNode value) {
  map.kind = ConfigNode::Kind::kMap;
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(path, absl::MaxSplits('.', 1));
  auto found = std::find_if(map.members.begin(), map.members.end(),
                            [&](const ConfigMember& each) { return each.key == parts.first; });
  if (found == map.members.end()) {
    ConfigNode member;
    member.where = value.where;
    map.members.push_back({std::string(parts.first), value.where, std::move(member)});
    found = map.members.end() - 1;
  }
  if (!parts.second.empty()) return Set(found->value, parts.second, std::move(value));
  found->where = value.where;
  found->value = std::move(value);
}

}  // namespace

std::string GetVariableName(std::string_view path) {
  return absl::StrCat("DET_", absl::AsciiStrToUpper(absl::StrReplaceAll(
                                  absl::string_view(path.data(), path.size()), {{".", "_"}})));
}

std::string GetFlagName(std::string_view path) {
  return absl::StrCat("--", absl::StrReplaceAll(absl::string_view(path.data(), path.size()),
                                                {{".", "-"}, {"_", "-"}}));
}

std::vector<Override> FindVariables(const FieldTable& table, const char* const* environment) {
  std::vector<Override> found;
  for (const char* const* entry = environment; *entry != nullptr; ++entry) {
    if (!absl::StartsWith(*entry, "DET_")) continue;
    const std::pair<std::string, std::string> variable =
        absl::StrSplit(*entry, absl::MaxSplits('=', 1));
    if (variable.second.empty()) continue;
    for (const Field& field : table.fields()) {
      const std::string path = field.path;
      if (path.find("[]") != path.npos || field.role == Role::kSection) continue;
      const std::string name = GetVariableName(path);
      const bool unused = field.role == Role::kIgnored || field.role == Role::kRemoved;
      // Some sections are unused only as long as they are off.
      if (unused && variable.first == name + "_ENABLED") {
        found.push_back({variable.first, path + ".enabled", variable.second});
      } else if (variable.first == name ||
                 (unused && absl::StartsWith(variable.first, name + "_"))) {
        found.push_back({variable.first, path, variable.second});
      }
    }
  }
  return found;
}

std::vector<std::string> GetSecretVariables(const FieldTable& table) {
  std::vector<std::string> names;
  for (const Field& field : table.fields()) {
    if (field.secret) names.push_back(GetVariableName(field.path));
  }
  return names;
}

absl::Status ApplyOverrides(const FieldTable& table, const std::vector<Override>& overrides,
                            ConfigNode& root) {
  for (const Override& override : overrides) {
    const Field* field = table.Find(override.path);
    // The file's section is more specific.
    const bool unused = field != nullptr && field->role == Role::kIgnored;
    if (unused && root.FindPath(override.path) != nullptr) continue;
    const Kind kind = field == nullptr ? Kind::kOther : KindOf(table, *field);
    DET_ASSIGN_OR_RETURN(ConfigNode node, MakeNode(kind, override));
    Set(root, override.path, std::move(node));
  }
  return absl::OkStatus();
}

std::optional<bool> ReadBool(const ConfigNode& node) {
  if (const bool* value = node.scalar.AsBool()) return *value;
  if (const int64_t* number = node.scalar.AsInt();
      number != nullptr && *number >= 0 && *number < 2) {
    return *number == 1;
  }
  if (node.AsString() == nullptr) return std::nullopt;
  const std::string word = absl::AsciiStrToLower(absl::StripAsciiWhitespace(*node.AsString()));
  for (const char* yes : {"true", "t", "yes", "y", "on", "1"}) {
    if (word == yes) return true;
  }
  for (const char* no : {"false", "f", "no", "n", "off", "0"}) {
    if (word == no) return false;
  }
  return std::nullopt;
}

void ConvertScalars(const FieldTable& table, ConfigNode& root) { ConvertMap(table, "", root); }

}  // namespace det::app
