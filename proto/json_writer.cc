#include "proto/json_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/timestamp.pb.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/time_util.h"
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace det::proto {
namespace {

namespace pb = google::protobuf;
using pb::Descriptor;
using pb::FieldDescriptor;
using pb::Message;
using pb::Reflection;

// The maximum nesting depth of a Struct.
constexpr int kMaxDepth = 200;

bool IsValid(const pb::Timestamp& time) {
  return time.seconds() >= pb::util::TimeUtil::kTimestampMinSeconds &&
         time.seconds() <= pb::util::TimeUtil::kTimestampMaxSeconds && time.nanos() >= 0 &&
         time.nanos() <= 999999999;
}

// An `optional` field is the only field of an implicit oneof.
bool IsNullWhenUnset(const FieldDescriptor& field) {
  // Existing clients expect these to be absent instead.
  static const auto& absent = *new std::set<std::string_view>{
      "det.api.v1.FlatRun.metadata",
      "det.api.v1.TokenInfo.expiry",
      "det.api.v1.User.last_auth_at",
      "det.api.v1.Workspace.agent_user_group",
      "det.api.v1.Workspace.checkpoint_storage_config",
      "det.api.v1.Workspace.pinned_at",
  };
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
         field.containing_oneof() == nullptr && !absent.contains(field.full_name());
}

class Writer {
 public:
  Writer(bool null_messages, const WrittenParts* written)
      : null_messages_(null_messages), written_(written) {}

  // Each function returns whether the value could be written.
  bool Write(const Message& message);
  std::string Text() const { return {buffer_.GetString(), buffer_.GetSize()}; }

 private:
  using JsonWriter =
      rapidjson::Writer<rapidjson::StringBuffer, rapidjson::UTF8<>, rapidjson::UTF8<>,
                        rapidjson::CrtAllocator, rapidjson::kWriteValidateEncodingFlag>;
  class Json final : public JsonWriter {
   public:
    using JsonWriter::JsonWriter;
    // Like RawValue, which copies and validates each character.
    bool CopyValue(std::string_view json) {
      Prefix(rapidjson::kObjectType);
      std::memcpy(os_->Push(json.size()), json.data(), json.size());
      return EndValue(true);
    }
  };

  bool WriteFields(const Message& message);
  bool WriteField(const Message& message, const FieldDescriptor& field);
  bool WriteList(const Message& message, const FieldDescriptor& field);
  bool WriteMap(const Message& message, const FieldDescriptor& field);
  bool WriteOne(const Message& message, const FieldDescriptor& field);
  bool WriteElement(const Message& message, const FieldDescriptor& field, int index);

  bool WriteStruct(const pb::Struct& value);
  bool WriteList(const pb::ListValue& value);
  bool WriteValue(const pb::Value& value);
  // Types with special rules in the mapping that no response of this API contains.
  bool WriteByLibrary(const Message& message);

  bool Text(std::string_view text) { return json_.String(text.data(), Size(text)); }
  bool Key(std::string_view text) { return json_.Key(text.data(), Size(text)); }
  template <class N>
  bool Whole(N number);  // 64-bit numbers are written as strings
  template <class N>
  bool Real(N number);
  bool Enum(const FieldDescriptor& field, int number);
  bool Bytes(const std::string& bytes) { return Text(absl::Base64Escape(bytes)); }
  static rapidjson::SizeType Size(std::string_view text) {
    return static_cast<rapidjson::SizeType>(text.size());
  }

  const bool null_messages_;           // whether unset messages are written as null
  const WrittenParts* const written_;  // may be null
  rapidjson::StringBuffer buffer_;
  Json json_{buffer_};
  int depth_ = 0;
};

bool Writer::Write(const Message& message) {
  if (++depth_ > kMaxDepth) return false;
  bool written = false;
  switch (message.GetDescriptor()->well_known_type()) {
    case Descriptor::WELLKNOWNTYPE_UNSPECIFIED:
      written = WriteFields(message);
      break;
    case Descriptor::WELLKNOWNTYPE_TIMESTAMP: {
      const auto& time = static_cast<const pb::Timestamp&>(message);
      written = IsValid(time) && Text(pb::util::TimeUtil::ToString(time));
      break;
    }
    case Descriptor::WELLKNOWNTYPE_STRUCT:
      written = WriteStruct(static_cast<const pb::Struct&>(message));
      break;
    case Descriptor::WELLKNOWNTYPE_VALUE:
      written = WriteValue(static_cast<const pb::Value&>(message));
      break;
    case Descriptor::WELLKNOWNTYPE_LISTVALUE:
      written = WriteList(static_cast<const pb::ListValue&>(message));
      break;
    default:
      written = WriteByLibrary(message);
  }
  --depth_;
  return written;
}

bool Writer::WriteFields(const Message& message) {
  const Descriptor& type = *message.GetDescriptor();
  const Reflection& reflection = *message.GetReflection();
  json_.StartObject();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.has_presence() && !reflection.HasField(message, &field)) {
      if (null_messages_ && IsNullWhenUnset(field) && (!Key(field.json_name()) || !json_.Null())) {
        return false;
      }
      continue;
    }
    if (!Key(field.json_name()) || !WriteField(message, field)) return false;
  }
  return json_.EndObject();
}

bool Writer::WriteField(const Message& message, const FieldDescriptor& field) {
  if (field.is_map()) return WriteMap(message, field);
  if (field.is_repeated()) return WriteList(message, field);
  return WriteOne(message, field);
}

bool Writer::WriteList(const Message& message, const FieldDescriptor& field) {
  const int size = message.GetReflection()->FieldSize(message, &field);
  json_.StartArray();
  for (int i = 0; i < size; ++i) {
    if (!WriteElement(message, field, i)) return false;
  }
  return json_.EndArray();
}

std::string KeyText(const Message& entry, const FieldDescriptor& key) {
  const Reflection& reflection = *entry.GetReflection();
  switch (key.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(reflection.GetInt32(entry, &key));
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(reflection.GetInt64(entry, &key));
    case FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat(reflection.GetUInt32(entry, &key));
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(reflection.GetUInt64(entry, &key));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(entry, &key) ? "true" : "false";
    default:
      return reflection.GetString(entry, &key);
  }
}

bool Writer::WriteMap(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  const FieldDescriptor& key = *field.message_type()->map_key();
  const FieldDescriptor& value = *field.message_type()->map_value();
  std::vector<std::pair<std::string, const Message*>> entries;
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    const Message& entry = reflection.GetRepeatedMessage(message, &field, i);
    entries.emplace_back(KeyText(entry, key), &entry);
  }
  std::sort(entries.begin(), entries.end());
  json_.StartObject();
  for (const auto& [text, entry] : entries) {
    if (!Key(text) || !WriteOne(*entry, value)) return false;
  }
  return json_.EndObject();
}

bool Writer::WriteOne(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return json_.Int(reflection.GetInt32(message, &field));
    case FieldDescriptor::CPPTYPE_INT64:
      return Whole(reflection.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return json_.Uint(reflection.GetUInt32(message, &field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return Whole(reflection.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Real(reflection.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return Real(reflection.GetFloat(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return json_.Bool(reflection.GetBool(message, &field));
    case FieldDescriptor::CPPTYPE_ENUM:
      return Enum(field, reflection.GetEnumValue(message, &field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return Write(reflection.GetMessage(message, &field));
    case FieldDescriptor::CPPTYPE_STRING:
      break;
  }
  std::string scratch;
  const std::string& text = reflection.GetStringReference(message, &field, &scratch);
  return field.type() == FieldDescriptor::TYPE_BYTES ? Bytes(text) : Text(text);
}

bool Writer::WriteElement(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return json_.Int(reflection.GetRepeatedInt32(message, &field, index));
    case FieldDescriptor::CPPTYPE_INT64:
      return Whole(reflection.GetRepeatedInt64(message, &field, index));
    case FieldDescriptor::CPPTYPE_UINT32:
      return json_.Uint(reflection.GetRepeatedUInt32(message, &field, index));
    case FieldDescriptor::CPPTYPE_UINT64:
      return Whole(reflection.GetRepeatedUInt64(message, &field, index));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Real(reflection.GetRepeatedDouble(message, &field, index));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return Real(reflection.GetRepeatedFloat(message, &field, index));
    case FieldDescriptor::CPPTYPE_BOOL:
      return json_.Bool(reflection.GetRepeatedBool(message, &field, index));
    case FieldDescriptor::CPPTYPE_ENUM:
      return Enum(field, reflection.GetRepeatedEnumValue(message, &field, index));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return Write(reflection.GetRepeatedMessage(message, &field, index));
    case FieldDescriptor::CPPTYPE_STRING:
      break;
  }
  std::string scratch;
  const std::string& text = reflection.GetRepeatedStringReference(message, &field, index, &scratch);
  return field.type() == FieldDescriptor::TYPE_BYTES ? Bytes(text) : Text(text);
}

bool Writer::WriteStruct(const pb::Struct& value) {
  if (const std::string* known = written_ == nullptr ? nullptr : written_->Find(value)) {
    return json_.CopyValue(*known);
  }
  std::vector<std::pair<std::string_view, const pb::Value*>> members;
  members.reserve(value.fields().size());
  for (const auto& [name, member] : value.fields()) members.emplace_back(name, &member);
  std::sort(members.begin(), members.end());
  json_.StartObject();
  for (const auto& [name, member] : members) {
    if (!Key(name) || !Write(*member)) return false;
  }
  return json_.EndObject();
}

bool Writer::WriteList(const pb::ListValue& value) {
  json_.StartArray();
  for (const pb::Value& element : value.values()) {
    if (!Write(element)) return false;
  }
  return json_.EndArray();
}

bool Writer::WriteValue(const pb::Value& value) {
  switch (value.kind_case()) {
    case pb::Value::kNumberValue:
      return Real(value.number_value());
    case pb::Value::kStringValue:
      return Text(value.string_value());
    case pb::Value::kBoolValue:
      return json_.Bool(value.bool_value());
    case pb::Value::kStructValue:
      return Write(value.struct_value());
    case pb::Value::kListValue:
      return Write(value.list_value());
    case pb::Value::kNullValue:
    case pb::Value::KIND_NOT_SET:
      break;
  }
  return json_.Null();
}

bool Writer::WriteByLibrary(const Message& message) {
  pb::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string text;
  if (!pb::util::MessageToJsonString(message, &text, options).ok()) return false;
  return json_.RawValue(text.data(), text.size(), rapidjson::kStringType);
}

template <class N>
bool Writer::Whole(N number) {
  char digits[24] = {'"'};
  char* end = std::to_chars(digits + 1, digits + sizeof(digits) - 1, number).ptr;
  *end++ = '"';
  return json_.RawValue(digits, static_cast<size_t>(end - digits), rapidjson::kStringType);
}

// Uses the fewest digits that parse to the same number, in the notation of protobuf's own writer: a
// whole number below 1e15 has no exponent, so that clients parse it as an integer.
template <class N>
bool Writer::Real(N number) {
  if (std::isnan(number)) return Text("NaN");
  if (std::isinf(number)) return Text(number < 0 ? "-Infinity" : "Infinity");
  const N size = std::abs(number);
  constexpr N kLarge = sizeof(N) == sizeof(double) ? N(1e15) : N(1e6);
  const bool plain = size == 0 || (size >= N(1e-4) && size < kLarge);
  char text[40];
  const char* const end =
      std::to_chars(text, text + sizeof(text), number,
                    plain ? std::chars_format::fixed : std::chars_format::scientific)
          .ptr;
  return json_.RawValue(text, static_cast<size_t>(end - text), rapidjson::kNumberType);
}

bool Writer::Enum(const FieldDescriptor& field, int number) {
  const pb::EnumValueDescriptor* const value = field.enum_type()->FindValueByNumber(number);
  if (field.enum_type() == pb::NullValue_descriptor()) return json_.Null();
  return value == nullptr ? json_.Int(number) : Text(value->name());
}

absl::StatusOr<std::string> Write(const Message& message, bool null_messages,
                                  const WrittenParts* written) {
  Writer writer(null_messages, written);
  if (writer.Write(message)) return writer.Text();
  return absl::InternalError(
      absl::StrCat("cannot write a ", message.GetDescriptor()->full_name(),
                   " as JSON: it contains a time out of range, a string that is not UTF-8, or a "
                   "value that is nested too deeply"));
}

}  // namespace

absl::StatusOr<std::string> WriteJson(const Message& message) {
  return Write(message, /*null_messages=*/false, nullptr);
}

absl::StatusOr<std::string> WriteResponseJson(const Message& message, const WrittenParts* written) {
  return Write(message, /*null_messages=*/true, written);
}

}  // namespace det::proto
