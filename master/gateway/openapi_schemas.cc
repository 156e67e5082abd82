#include "master/gateway/openapi_schemas.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace det::gateway {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;
using Json = OpenApiSchemas::Json;

// Messages with a special JSON form.
const std::map<std::string, Json>& WellKnown() {
  static const auto& forms = *new std::map<std::string, Json>{
      {"google.protobuf.Timestamp", {{"type", "string"}, {"format", "date-time"}}},
      {"google.protobuf.Duration", {{"type", "string"}, {"examples", {"1.5s"}}}},
      {"google.protobuf.FieldMask", {{"type", "string"}}},
      {"google.protobuf.Struct", {{"type", "object"}}},
      {"google.protobuf.ListValue", {{"type", "array"}}},
      {"google.protobuf.Value", Json::object()},
      {"google.protobuf.Empty", {{"type", "object"}}},
      {"google.protobuf.BoolValue", {{"type", {"boolean", "null"}}}},
      {"google.protobuf.StringValue", {{"type", {"string", "null"}}}},
      {"google.protobuf.Int32Value", {{"type", {"integer", "null"}}}},
      {"google.protobuf.Int64Value", {{"type", {"string", "null"}}, {"format", "int64"}}},
      {"google.protobuf.DoubleValue", {{"type", {"number", "null"}}}},
      {"google.protobuf.FloatValue", {{"type", {"number", "null"}}}},
  };
  return forms;
}

std::string GetSchemaName(const std::string& full_name) {
  return std::string(absl::StripPrefix(full_name, "det.api.v1."));
}

Json MakeReference(const std::string& name) {
  return {{"$ref", absl::StrCat("#/components/schemas/", name)}};
}

std::string Clean(const google::protobuf::SourceLocation& location) {
  const std::string& text =
      location.leading_comments.empty() ? location.trailing_comments : location.leading_comments;
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    lines.emplace_back(absl::StripPrefix(line, " "));
  }
  return std::string(absl::StripAsciiWhitespace(absl::StrJoin(lines, "\n")));
}

// Unset messages are null in responses, unless they are declared `optional` or belong to a oneof.
Json AllowNull(const FieldDescriptor& field, Json schema) {
  const bool null_when_unset = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
                               !field.is_repeated() && field.containing_oneof() == nullptr;
  if (!null_when_unset) return schema;
  if (schema.contains("$ref")) {
    return {{"anyOf", Json::array({std::move(schema), Json{{"type", "null"}}})}};
  }
  const auto type = schema.find("type");
  if (type != schema.end() && type->is_string()) *type = Json::array({*type, "null"});
  return schema;
}

}  // namespace

template <class D>
std::string GetComment(const D& descriptor) {
  google::protobuf::SourceLocation location;
  return descriptor.GetSourceLocation(&location) ? Clean(location) : "";
}
template std::string GetComment(const FieldDescriptor&);
template std::string GetComment(const MethodDescriptor&);
template std::string GetComment(const ServiceDescriptor&);

const FieldDescriptor* FindField(const Descriptor& message, std::string_view path) {
  const Descriptor* type = &message;
  const FieldDescriptor* field = nullptr;
  const absl::string_view view(path.data(), path.size());
  for (const absl::string_view name : absl::StrSplit(view, '.')) {
    field = type == nullptr ? nullptr : type->FindFieldByName(std::string(name));
    if (field == nullptr) return nullptr;
    type = field->message_type();
  }
  return field;
}

bool OpenApiSchemas::IsText(const FieldDescriptor& field) {
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return true;
  const std::string& name = field.message_type()->full_name();
  return name == "google.protobuf.Timestamp" || name == "google.protobuf.Duration";
}

bool OpenApiSchemas::IsWellKnown(const Descriptor& message) {
  return WellKnown().count(message.full_name()) != 0;
}

Json OpenApiSchemas::MakeSchema(const FieldDescriptor& field) {
  if (field.is_map()) {
    return {{"type", "object"},
            {"additionalProperties", MakeSchema(*field.message_type()->FindFieldByNumber(2))}};
  }
  if (!field.is_repeated()) return MakeElementSchema(field);
  return {{"type", "array"}, {"items", MakeElementSchema(field)}};
}

Json OpenApiSchemas::MakeElementSchema(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_UINT32:
      return {{"type", "integer"}, {"format", "int32"}};
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT64:
      return {{"type", "string"}, {"format", "int64"}};
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return {{"type", "number"}, {"format", "double"}};
    case FieldDescriptor::CPPTYPE_FLOAT:
      return {{"type", "number"}, {"format", "float"}};
    case FieldDescriptor::CPPTYPE_BOOL:
      return {{"type", "boolean"}};
    case FieldDescriptor::CPPTYPE_ENUM:
      return MakeSchema(*field.enum_type());
    case FieldDescriptor::CPPTYPE_STRING:
      if (field.type() != FieldDescriptor::TYPE_BYTES) return {{"type", "string"}};
      return {{"type", "string"}, {"contentEncoding", "base64"}};
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MakeSchema(*field.message_type());
  }
  return Json::object();
}

Json OpenApiSchemas::MakeSchema(const Descriptor& message) {
  const auto known = WellKnown().find(message.full_name());
  if (known != WellKnown().end()) return known->second;
  const std::string name = GetSchemaName(message.full_name());
  // Inserted before its fields are visited, since messages may be recursive.
  if (!schemas_.emplace(name, Json::object()).second) return MakeReference(name);
  Json schema = {{"type", "object"}};
  if (std::string comment = GetComment(message); !comment.empty()) {
    schema["description"] = std::move(comment);
  }
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    Json property = AllowNull(field, MakeSchema(field));
    if (std::string comment = GetComment(field); !comment.empty()) {
      property["description"] = std::move(comment);
    }
    schema["properties"][field.json_name()] = std::move(property);
  }
  schemas_[name] = std::move(schema);
  return MakeReference(name);
}

Json OpenApiSchemas::MakeSchema(const EnumDescriptor& type) {
  const std::string name = GetSchemaName(type.full_name());
  if (!schemas_.emplace(name, Json::object()).second) return MakeReference(name);
  Json values = Json::array();
  std::vector<std::string> lines;
  if (std::string comment = GetComment(type); !comment.empty()) lines.push_back(std::move(comment));
  for (int i = 0; i < type.value_count(); ++i) {
    values.push_back(type.value(i)->name());
    const std::string comment = GetComment(*type.value(i));
    if (!comment.empty()) lines.push_back(absl::StrCat("- ", type.value(i)->name(), ": ", comment));
  }
  Json schema = {{"type", "string"}, {"enum", std::move(values)}};
  if (!lines.empty()) schema["description"] = absl::StrJoin(lines, "\n");
  schemas_[name] = std::move(schema);
  return MakeReference(name);
}

Json OpenApiSchemas::TakeSchemas() {
  Json all = Json::object();
  for (auto& [name, schema] : schemas_) all[name] = std::move(schema);
  schemas_.clear();
  return all;
}

}  // namespace det::gateway
