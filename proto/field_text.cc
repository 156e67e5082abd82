#include "proto/field_text.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/message.h"
#include "google/protobuf/timestamp.pb.h"
#include "google/protobuf/util/time_util.h"

namespace det::proto {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::Duration;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::Timestamp;
using google::protobuf::util::TimeUtil;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

const FieldDescriptor* FindField(const Descriptor& type, const std::string& name) {
  const FieldDescriptor* field = type.FindFieldByName(name);
  if (field == nullptr) field = type.FindFieldByCamelcaseName(name);
  if (field != nullptr) return field;
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->json_name() == name) return type.field(i);
  }
  return nullptr;
}

// A field and the message that directly contains it.
template <class M>
struct Place {
  M* holder = nullptr;
  const FieldDescriptor* field = nullptr;
};

// Walks to the last name of the path and creates missing messages; null field: there is no such
// path.
Place<Message> FindForWrite(std::string_view path, Message* message) {
  const std::vector<std::string> names = absl::StrSplit(View(path), '.');
  for (size_t i = 0; i < names.size(); ++i) {
    const FieldDescriptor* field = FindField(*message->GetDescriptor(), names[i]);
    if (field == nullptr) return {};
    if (i + 1 == names.size()) return {message, field};
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated()) return {};
    message = message->GetReflection()->MutableMessage(message, field);
  }
  return {};
}

Place<const Message> FindForRead(std::string_view path, const Message& root) {
  const Message* message = &root;
  const std::vector<std::string> names = absl::StrSplit(View(path), '.');
  for (size_t i = 0; i < names.size(); ++i) {
    const FieldDescriptor* field = FindField(*message->GetDescriptor(), names[i]);
    if (field == nullptr) return {};
    if (i + 1 == names.size()) return {message, field};
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated()) return {};
    message = &message->GetReflection()->GetMessage(*message, field);
  }
  return {};
}

std::optional<bool> ParseBool(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE" || text == "1") return true;
  if (text == "false" || text == "False" || text == "FALSE" || text == "0") return false;
  return std::nullopt;
}

const EnumValueDescriptor* ParseEnum(const FieldDescriptor& field, std::string_view text) {
  const EnumValueDescriptor* value = field.enum_type()->FindValueByName(std::string(text));
  int number = 0;
  if (value == nullptr && absl::SimpleAtoi(View(text), &number)) {
    value = field.enum_type()->FindValueByNumber(number);
  }
  return value;
}

// Parses a number; the whole of `text` must be the number.
template <class T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  if constexpr (std::is_same_v<T, double>) {
    if (absl::SimpleAtod(View(text), &value)) return value;
  } else {
    if (absl::SimpleAtoi(View(text), &value)) return value;
  }
  return std::nullopt;
}

// `Time` is Timestamp or Duration.
template <class Time>
bool SetTime(const FieldDescriptor& field, std::string_view text, Message* message) {
  Time value;
  if (!TimeUtil::FromString(std::string(text), &value)) return false;
  const Reflection* reflection = message->GetReflection();
  (field.is_repeated() ? reflection->AddMessage(message, &field)
                       : reflection->MutableMessage(message, &field))
      ->CopyFrom(value);
  return true;
}

bool SetMessage(const FieldDescriptor& field, std::string_view text, Message* message) {
  const std::string name = field.message_type()->full_name();
  if (name == "google.protobuf.Timestamp") return SetTime<Timestamp>(field, text, message);
  if (name == "google.protobuf.Duration") return SetTime<Duration>(field, text, message);
  return false;
}

bool SetText(const FieldDescriptor& field, std::string_view text, Message* m) {
  const Reflection* r = m->GetReflection();
  const bool many = field.is_repeated();
  // One line per type: parses the value, and adds or sets it.
  const auto put = [&](auto value, auto add, auto set) {
    if (!value) return false;
    many ? (r->*add)(m, &field, *value) : (r->*set)(m, &field, *value);
    return true;
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return put(ParseNumber<int32_t>(text), &Reflection::AddInt32, &Reflection::SetInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return put(ParseNumber<int64_t>(text), &Reflection::AddInt64, &Reflection::SetInt64);
    case FieldDescriptor::CPPTYPE_UINT32:
      return put(ParseNumber<uint32_t>(text), &Reflection::AddUInt32, &Reflection::SetUInt32);
    case FieldDescriptor::CPPTYPE_UINT64:
      return put(ParseNumber<uint64_t>(text), &Reflection::AddUInt64, &Reflection::SetUInt64);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return put(ParseNumber<double>(text), &Reflection::AddDouble, &Reflection::SetDouble);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return put(ParseNumber<double>(text), &Reflection::AddFloat, &Reflection::SetFloat);
    case FieldDescriptor::CPPTYPE_BOOL:
      return put(ParseBool(text), &Reflection::AddBool, &Reflection::SetBool);
    case FieldDescriptor::CPPTYPE_ENUM: {
      const EnumValueDescriptor* value = ParseEnum(field, text);
      if (value == nullptr) return false;
      many ? r->AddEnum(m, &field, value) : r->SetEnum(m, &field, value);
      return true;
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string value(text);
      const bool bytes = field.type() == FieldDescriptor::TYPE_BYTES;
      if (bytes ? !absl::Base64Unescape(View(text), &value) &&
                      !absl::WebSafeBase64Unescape(View(text), &value)
                : !base::IsUtf8(text)) {
        return false;
      }
      many ? r->AddString(m, &field, value) : r->SetString(m, &field, value);
      return true;
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return SetMessage(field, text, m);
  }
  return false;
}

std::string DoubleToText(double value) {
  char buffer[32];
  const std::to_chars_result result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, result.ptr);
}

// Returns the value of a field, or of its element `i` if it is repeated; nullopt for a message
// without a text form.
std::optional<std::string> GetText(const Message& m, const FieldDescriptor& field, int i) {
  const Reflection* r = m.GetReflection();
  const bool many = field.is_repeated();
  const auto get = [&](auto at, auto single) {
    return many ? (r->*at)(m, &field, i) : (r->*single)(m, &field);
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(get(&Reflection::GetRepeatedInt32, &Reflection::GetInt32));
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(get(&Reflection::GetRepeatedInt64, &Reflection::GetInt64));
    case FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat(get(&Reflection::GetRepeatedUInt32, &Reflection::GetUInt32));
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(get(&Reflection::GetRepeatedUInt64, &Reflection::GetUInt64));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return DoubleToText(get(&Reflection::GetRepeatedDouble, &Reflection::GetDouble));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return DoubleToText(get(&Reflection::GetRepeatedFloat, &Reflection::GetFloat));
    case FieldDescriptor::CPPTYPE_BOOL:
      return get(&Reflection::GetRepeatedBool, &Reflection::GetBool) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return get(&Reflection::GetRepeatedEnum, &Reflection::GetEnum)->name();
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string value = get(&Reflection::GetRepeatedString, &Reflection::GetString);
      return field.type() == FieldDescriptor::TYPE_BYTES ? absl::Base64Escape(value) : value;
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  const Message& inner = many ? r->GetRepeatedMessage(m, &field, i) : r->GetMessage(m, &field);
  const std::string name = inner.GetDescriptor()->full_name();
  if (name == "google.protobuf.Timestamp") {
    Timestamp value;
    value.ParseFromString(inner.SerializeAsString());
    return TimeUtil::ToString(value);
  }
  if (name == "google.protobuf.Duration") {
    Duration value;
    value.ParseFromString(inner.SerializeAsString());
    return TimeUtil::ToString(value);
  }
  return std::nullopt;
}

absl::Status AppendQuery(const Message& message, const std::string& prefix,
                         std::vector<std::pair<std::string, std::string>>* out) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string name = absl::StrCat(prefix, field->json_name());
    const int count = field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      std::optional<std::string> text = GetText(message, *field, i);
      if (text) {
        out->emplace_back(name, *std::move(text));
      } else if (!field->is_repeated()) {
        DET_RETURN_IF_ERROR(AppendQuery(message.GetReflection()->GetMessage(message, field),
                                        absl::StrCat(name, "."), out));
      } else {
        return absl::InvalidArgumentError(
            absl::StrCat("field ", name, " cannot be passed in a query; use a request body"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SetFieldFromText(std::string_view path, std::string_view text, Message* message) {
  // The path is looked up before anything is created.
  if (FindForRead(path, *message).field == nullptr) {
    return absl::NotFoundError(absl::StrCat("unknown field ", View(path)));
  }
  const Place<Message> place = FindForWrite(path, message);
  if (SetText(*place.field, text, place.holder)) return absl::OkStatus();
  // A value that is not valid text is not shown in the error.
  if (!base::IsUtf8(text)) {
    return absl::InvalidArgumentError(absl::StrCat(View(path), ": the value is not UTF-8"));
  }
  const std::string type = place.field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE
                               ? place.field->message_type()->name()
                           : place.field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM
                               ? place.field->enum_type()->name()
                               : place.field->type_name();
  return absl::InvalidArgumentError(absl::StrCat(View(path), ": \"", View(text.substr(0, 100)),
                                                 "\" is not a value of type ", type));
}

absl::StatusOr<std::string> FieldToText(std::string_view path, const Message& message) {
  const Place<const Message> place = FindForRead(path, message);
  if (place.field == nullptr || place.field->is_repeated() ||
      !place.holder->GetReflection()->HasField(*place.holder, place.field)) {
    return absl::NotFoundError(absl::StrCat("field ", View(path), " is not set"));
  }
  std::optional<std::string> text = GetText(*place.holder, *place.field, 0);
  if (!text) return absl::NotFoundError(absl::StrCat("field ", View(path), " is not a scalar"));
  return *std::move(text);
}

void ClearFieldAt(std::string_view path, Message* message) {
  const Place<Message> place = FindForWrite(path, message);
  if (place.field != nullptr) {
    place.holder->GetReflection()->ClearField(place.holder, place.field);
  }
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> FieldsToQuery(
    const Message& message) {
  std::vector<std::pair<std::string, std::string>> out;
  DET_RETURN_IF_ERROR(AppendQuery(message, "", &out));
  return out;
}

}  // namespace det::proto
