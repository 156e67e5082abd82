#include "cli/yaml_text.h"

#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/format.h"
#include <yaml-cpp/yaml.h>

namespace det::cli {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

void Write(const Struct& values, YAML::Emitter* out);

// Whether YAML parses the text as another type: "1", "true", "~", "60_000", "0x1f", "2024-01-31".
bool IsOtherType(const std::string& text) {
  const YAML::Node plain(text);
  bool flag = false;
  double number = 0;
  const std::string lower = absl::AsciiStrToLower(text);
  const bool numeric = lower.find_first_of("0123456789") < 3 &&
                       lower.find_first_not_of("0123456789abcdefox_+-.:") == lower.npos;
  return numeric || YAML::convert<bool>::decode(plain, flag) ||
         YAML::convert<double>::decode(plain, number) || lower == "null" || text == "~";
}

void Write(const std::string& text, YAML::Emitter* out) {
  if (IsOtherType(text)) *out << YAML::DoubleQuoted;
  *out << text;
}

void Write(const Value& value, YAML::Emitter* out) {
  switch (value.kind_case()) {
    case Value::kStructValue:
      // An empty map in block style would be written on a line of its own.
      if (value.struct_value().fields().empty()) *out << YAML::Flow;
      return Write(value.struct_value(), out);
    case Value::kListValue:
      if (value.list_value().values().empty()) *out << YAML::Flow;
      *out << YAML::BeginSeq;
      for (const Value& each : value.list_value().values()) Write(each, out);
      *out << YAML::EndSeq;
      return;
    case Value::kStringValue:
      return Write(value.string_value(), out);
    case Value::kNumberValue:
      *out << FormatPlainNumber(value.number_value());
      return;
    case Value::kBoolValue:
      *out << value.bool_value();
      return;
    default:
      *out << YAML::Null;
  }
}

void Write(const Struct& values, YAML::Emitter* out) {
  *out << YAML::BeginMap;
  // The map of the message has no order.
  std::map<std::string, const Value*> sorted;
  for (const auto& [name, value] : values.fields()) sorted[name] = &value;
  for (const auto& [name, value] : sorted) {
    *out << YAML::Key;
    Write(name, out);
    *out << YAML::Value;
    Write(*value, out);
  }
  *out << YAML::EndMap;
}

}  // namespace

std::string FormatYaml(const Struct& values) {
  YAML::Emitter out;
  Write(values, &out);
  return absl::StrCat(out.c_str(), "\n");
}

}  // namespace det::cli
