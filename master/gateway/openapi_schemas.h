// Messages and enumerations as the JSON schemas of an OpenAPI document.
//
// Used by openapi.cc. Does no I/O.
#ifndef MASTER_GATEWAY_OPENAPI_SCHEMAS_H_
#define MASTER_GATEWAY_OPENAPI_SCHEMAS_H_

#include <map>
#include <string>
#include <string_view>

#include "google/protobuf/descriptor.h"
#include <nlohmann/json.hpp>

namespace det::gateway {

// The comment of a message, field or method; empty if there is none.
template <class D>
std::string GetComment(const D& descriptor);

// The field at a path of proto names ("experiment.id"), or null.
const google::protobuf::FieldDescriptor* FindField(const google::protobuf::Descriptor& message,
                                                   std::string_view path);

class OpenApiSchemas {
 public:
  using Json = nlohmann::ordered_json;

  // Returns a schema, or a reference to a schema that TakeSchemas() returns.
  Json MakeSchema(const google::protobuf::FieldDescriptor& field);
  // Schema of one element of a repeated field.
  Json MakeElementSchema(const google::protobuf::FieldDescriptor& field);
  Json MakeSchema(const google::protobuf::Descriptor& message);

  // All referenced schemas, by name.
  Json TakeSchemas();

  // Whether a field can be a query or path parameter.
  static bool IsText(const google::protobuf::FieldDescriptor& field);
  // Whether the message has a special JSON form.
  static bool IsWellKnown(const google::protobuf::Descriptor& message);

 private:
  Json MakeSchema(const google::protobuf::EnumDescriptor& type);

  std::map<std::string, Json> schemas_;
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_OPENAPI_SCHEMAS_H_
