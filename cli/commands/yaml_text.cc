#include "cli/commands/yaml_text.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "cli/commands/struct_text.h"
#include <yaml-cpp/yaml.h>

namespace det::cli {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

void Write(const Struct& values, YAML::Emitter* out);

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
    case Value::kStringValue: {
      // Strings that YAML would parse as another type are quoted: "1", "true", "~".
      const YAML::Node plain(value.string_value());
      bool flag = false;
      double number = 0;
      const bool other = YAML::convert<bool>::decode(plain, flag) ||
                         YAML::convert<double>::decode(plain, number) ||
                         value.string_value() == "null" || value.string_value() == "~";
      if (other) *out << YAML::DoubleQuoted;
      *out << value.string_value();
      return;
    }
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
    *out << YAML::Key << name << YAML::Value;
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
