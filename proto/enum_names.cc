#include "proto/enum_names.h"

#include <map>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "google/protobuf/descriptor.h"
#include <rapidjson/document.h>

namespace det::proto {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using Json = rapidjson::Value;

// Types with a JSON form of their own, such as Struct.
bool IsWellKnown(const Descriptor& type) {
  return absl::StartsWith(type.full_name(), "google.protobuf.");
}

bool FindEnum(const Descriptor& type, std::set<const Descriptor*>& visited) {
  if (IsWellKnown(type) || !visited.insert(&type).second) return false;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.enum_type() != nullptr) return true;
    if (field.message_type() != nullptr && FindEnum(*field.message_type(), visited)) return true;
  }
  return false;
}

bool HasEnums(const Descriptor& type) {
  thread_local std::map<const Descriptor*, bool> known;
  const auto found = known.find(&type);
  if (found != known.end()) return found->second;
  std::set<const Descriptor*> visited;
  return known[&type] = FindEnum(type, visited);
}

const FieldDescriptor* FindField(const Descriptor& type, const std::string& name) {
  const FieldDescriptor* field = type.FindFieldByName(name);
  if (field != nullptr) return field;
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->json_name() == name) return type.field(i);
  }
  return nullptr;
}

// The parser also accepts numbers, and names in lower case or with hyphens. Log lines of existing
// clients have levels without their prefix: "INFO"; the parser ignores them.
bool IsKnown(const EnumDescriptor& type, const std::string& name) {
  int number = 0;
  if (name.empty() || absl::SimpleAtoi(name, &number)) return true;
  if (type.FindValueByName(name) != nullptr) return true;
  std::string usual = absl::AsciiStrToUpper(name);
  for (char& c : usual) c = c == '-' ? '_' : c;
  if (type.FindValueByName(usual) != nullptr) return true;
  for (int i = 0; i < type.value_count(); ++i) {
    if (absl::EndsWith(type.value(i)->name(), absl::StrCat("_", usual))) return true;
  }
  return false;
}

absl::Status CheckObject(const Json& object, const Descriptor& type);

absl::Status CheckValue(const Json& value, const FieldDescriptor& field) {
  if (field.is_map()) {
    if (!value.IsObject()) return absl::OkStatus();
    const FieldDescriptor& item = *field.message_type()->map_value();
    for (const auto& member : value.GetObject()) {
      DET_RETURN_IF_ERROR(CheckValue(member.value, item));
    }
    return absl::OkStatus();
  }
  if (value.IsArray()) {
    if (!field.is_repeated()) return absl::OkStatus();
    for (const Json& item : value.GetArray()) {
      if (!item.IsArray()) DET_RETURN_IF_ERROR(CheckValue(item, field));
    }
    return absl::OkStatus();
  }
  if (field.message_type() != nullptr) return CheckObject(value, *field.message_type());
  if (field.enum_type() == nullptr || !value.IsString()) return absl::OkStatus();
  const std::string name(value.GetString(), value.GetStringLength());
  if (IsWellKnown(*field.containing_type()) || IsKnown(*field.enum_type(), name)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(field.json_name(), ": unknown value \"", name,
                                                 "\" for enum ", field.enum_type()->full_name()));
}

absl::Status CheckObject(const Json& object, const Descriptor& type) {
  if (!object.IsObject() || !HasEnums(type)) return absl::OkStatus();
  for (const auto& member : object.GetObject()) {
    const FieldDescriptor* field =
        FindField(type, {member.name.GetString(), member.name.GetStringLength()});
    if (field != nullptr) DET_RETURN_IF_ERROR(CheckValue(member.value, *field));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckEnumNames(std::string_view json, const Descriptor& type) {
  if (!HasEnums(type)) return absl::OkStatus();
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  if (document.HasParseError()) return absl::OkStatus();
  return CheckObject(document, type);
}

}  // namespace det::proto
