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
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

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

// Returns the value's name as the parser knows it; empty if the enum has none. The parser also
// knows numbers, and names in lower case or with hyphens.
std::string CompleteName(const EnumDescriptor& type, const std::string& name) {
  int number = 0;
  if (name.empty() || absl::SimpleAtoi(name, &number)) return name;
  if (type.FindValueByName(name) != nullptr) return name;
  std::string usual = absl::AsciiStrToUpper(name);
  for (char& c : usual) c = c == '-' ? '_' : c;
  if (type.FindValueByName(usual) != nullptr) return name;
  for (int i = 0; i < type.value_count(); ++i) {
    if (absl::EndsWith(type.value(i)->name(), absl::StrCat("_", usual))) {
      return type.value(i)->name();
    }
  }
  return "";
}

// Walks through a document and completes its names.
class Names {
 public:
  explicit Names(rapidjson::Document& document) : document_(document) {}

  absl::Status CompleteObject(Json& object, const Descriptor& type) {
    if (!object.IsObject() || !HasEnums(type)) return absl::OkStatus();
    for (auto& member : object.GetObject()) {
      const FieldDescriptor* field =
          FindField(type, {member.name.GetString(), member.name.GetStringLength()});
      if (field != nullptr) DET_RETURN_IF_ERROR(CompleteValue(member.value, *field));
    }
    return absl::OkStatus();
  }
  bool changed() const { return changed_; }

 private:
  absl::Status CompleteValue(Json& value, const FieldDescriptor& field) {
    if (field.is_map()) {
      if (!value.IsObject()) return absl::OkStatus();
      const FieldDescriptor& item = *field.message_type()->map_value();
      for (auto& member : value.GetObject()) {
        DET_RETURN_IF_ERROR(CompleteValue(member.value, item));
      }
      return absl::OkStatus();
    }
    if (value.IsArray()) {
      if (!field.is_repeated()) return absl::OkStatus();
      for (Json& item : value.GetArray()) {
        if (!item.IsArray()) DET_RETURN_IF_ERROR(CompleteValue(item, field));
      }
      return absl::OkStatus();
    }
    if (field.message_type() != nullptr) return CompleteObject(value, *field.message_type());
    if (field.enum_type() == nullptr || !value.IsString()) return absl::OkStatus();
    if (IsWellKnown(*field.containing_type())) return absl::OkStatus();
    const std::string name(value.GetString(), value.GetStringLength());
    const std::string whole = CompleteName(*field.enum_type(), name);
    if (whole.empty() && !name.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(field.json_name(), ": unknown value \"", name,
                                                     "\" for enum ",
                                                     field.enum_type()->full_name()));
    }
    if (whole == name) return absl::OkStatus();
    value.SetString(whole.data(), static_cast<rapidjson::SizeType>(whole.size()),
                    document_.GetAllocator());
    changed_ = true;
    return absl::OkStatus();
  }

  rapidjson::Document& document_;
  bool changed_ = false;
};

}  // namespace

absl::Status CompleteEnumNames(std::string* json, const Descriptor& type) {
  if (!HasEnums(type)) return absl::OkStatus();
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag>(json->data(),
                                                                                      json->size());
  if (document.HasParseError()) return absl::OkStatus();
  Names names(document);
  DET_RETURN_IF_ERROR(names.CompleteObject(document, type));
  if (!names.changed()) return absl::OkStatus();
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  document.Accept(writer);
  *json = buffer.GetString();
  return absl::OkStatus();
}

}  // namespace det::proto
