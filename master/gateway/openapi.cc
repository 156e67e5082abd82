#include "master/gateway/openapi.h"

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/descriptor_database.h"
#include "master/gateway/builtin_routes.h"
#include "master/gateway/openapi_schemas.h"
#include "proto/http_path.h"
#include "proto/http_rule.h"
#include <nlohmann/json.hpp>

namespace det::gateway {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;
using Json = nlohmann::ordered_json;

constexpr int kMaxParameterDepth = 3;
constexpr char kGatewayTag[] = "Gateway";

constexpr char kAbout[] =
    "The HTTP form of the API of a Resolute master; the same methods are served by gRPC on the "
    "same port. Every response has an X-Request-Id. 64-bit integers are written as strings, and "
    "accepted as strings or numbers; field names are accepted in lowerCamelCase and snake_case.";

// The summary of a method: its comment's first sentence.
std::string FirstSentence(const std::string& comment) {
  std::string line = absl::StrJoin(absl::StrSplit(comment, '\n'), " ");
  const size_t end = line.find(". ");
  if (end != line.npos) line.resize(end);
  if (!line.empty() && line.back() == '.') line.pop_back();
  return line;
}

class Writer {
 public:
  explicit Writer(const ApiSource& source) : source_(source) {}

  absl::Status Add(const ServiceDescriptor& service);
  std::string Finish();

 private:
  absl::Status AddOperation(const MethodDescriptor& method, const proto::RulePattern& pattern,
                            int index);
  // Returns the path in OpenAPI form; adds parameters to `operation`, and their fields to `taken`.
  absl::StatusOr<std::string> Path(const MethodDescriptor& method,
                                   const proto::RulePattern& pattern, Json* operation,
                                   std::set<std::string>* taken);
  void AddQuery(const Descriptor& message, const std::string& prefix, const std::string& names,
                const std::set<std::string>& taken, int depth, Json* parameters);
  void AddBody(const MethodDescriptor& method, const std::string& body, Json* operation);
  Json MakeResponses(const MethodDescriptor& method);
  void AddOwn(const BuiltinRoute& route);

  const ApiSource& source_;
  OpenApiSchemas schemas_;
  Json paths_ = Json::object();
  Json tags_ = Json::array();
  // Paths that differ only in parameter names are one path: "/trials/{}" -> the names seen first.
  std::map<std::string, std::vector<std::string>> parameter_names_;
};

absl::Status Writer::Add(const ServiceDescriptor& service) {
  tags_.push_back({{"name", service.name()}, {"description", GetComment(service)}});
  for (int i = 0; i < service.method_count(); ++i) {
    const MethodDescriptor& method = *service.method(i);
    if (method.client_streaming()) continue;
    int index = 0;
    for (const proto::RulePattern& pattern : proto::GetPatterns(method)) {
      DET_RETURN_IF_ERROR(AddOperation(method, pattern, index++));
    }
  }
  return absl::OkStatus();
}

absl::Status Writer::AddOperation(const MethodDescriptor& method, const proto::RulePattern& pattern,
                                  int index) {
  const std::string comment = GetComment(method);
  Json operation = Json::object();
  operation["tags"] = Json::array({method.service()->name()});
  operation["operationId"] = absl::StrCat(method.service()->name(), "_", method.name(),
                                          index == 0 ? "" : absl::StrCat("_", index + 1));
  if (!comment.empty()) operation["summary"] = FirstSentence(comment);
  if (!comment.empty()) operation["description"] = comment;
  operation["parameters"] = Json::array();
  std::set<std::string> taken;
  DET_ASSIGN_OR_RETURN(const std::string path, Path(method, pattern, &operation, &taken));
  if (!pattern.body.empty()) AddBody(method, pattern.body, &operation);
  if (pattern.body != "*") {
    taken.insert(pattern.body);
    AddQuery(*method.input_type(), "", "", taken, 0, &operation["parameters"]);
  }
  operation["responses"] = MakeResponses(method);
  if (source_.open && source_.open(method.full_name())) operation["security"] = Json::array();
  paths_[path][absl::AsciiStrToLower(pattern.verb)] = std::move(operation);
  return absl::OkStatus();
}

absl::StatusOr<std::string> Writer::Path(const MethodDescriptor& method,
                                         const proto::RulePattern& pattern, Json* operation,
                                         std::set<std::string>* taken) {
  DET_ASSIGN_OR_RETURN(const auto segments, proto::ParsePathTemplate(pattern.path));
  std::string shape;
  std::vector<std::string> names;
  for (const proto::PathSegment& segment : segments) {
    absl::StrAppend(&shape, "/", segment.field.empty() ? segment.literal : "{}");
    // Tools for OpenAPI take a dot in a name for an access to a member.
    if (!segment.field.empty()) names.push_back(absl::StrReplaceAll(segment.field, {{".", "_"}}));
  }
  const std::vector<std::string>& shown = parameter_names_.emplace(shape, names).first->second;
  std::string path;
  size_t next = 0;
  for (const proto::PathSegment& segment : segments) {
    if (segment.field.empty()) {
      absl::StrAppend(&path, "/", segment.literal);
      continue;
    }
    const std::string& name = shown[next++];
    absl::StrAppend(&path, "/{", name, "}");
    taken->insert(segment.field);
    const FieldDescriptor* field = FindField(*method.input_type(), segment.field);
    if (field == nullptr) {
      return absl::InternalError(absl::StrCat(method.full_name(), " has no field ", segment.field));
    }
    Json parameter = {{"name", name}, {"in", "path"}, {"required", true}};
    if (const std::string comment = GetComment(*field); !comment.empty()) {
      parameter["description"] = comment;
    }
    parameter["schema"] = schemas_.MakeElementSchema(*field);
    (*operation)["parameters"].push_back(std::move(parameter));
  }
  return path;
}

// `names`: path of the field in `message` in proto names; `prefix`: in JSON names.
void Writer::AddQuery(const Descriptor& message, const std::string& prefix,
                      const std::string& names, const std::set<std::string>& taken, int depth,
                      Json* parameters) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    const std::string name = absl::StrCat(names, field.name());
    if (field.is_map() || taken.count(name) != 0) continue;
    if (!OpenApiSchemas::IsText(field)) {
      if (field.is_repeated() || depth == kMaxParameterDepth ||
          OpenApiSchemas::IsWellKnown(*field.message_type())) {
        continue;
      }
      AddQuery(*field.message_type(), absl::StrCat(prefix, field.json_name(), "."),
               absl::StrCat(name, "."), taken, depth + 1, parameters);
      continue;
    }
    Json parameter = {{"name", absl::StrCat(prefix, field.json_name())}, {"in", "query"}};
    if (const std::string comment = GetComment(field); !comment.empty()) {
      parameter["description"] = comment;
    }
    parameter["schema"] = schemas_.MakeSchema(field);
    parameters->push_back(std::move(parameter));
  }
}

void Writer::AddBody(const MethodDescriptor& method, const std::string& body, Json* operation) {
  const FieldDescriptor* field = body == "*" ? nullptr : method.input_type()->FindFieldByName(body);
  const Json schema =
      field != nullptr ? schemas_.MakeSchema(*field) : schemas_.MakeSchema(*method.input_type());
  (*operation)["requestBody"]["content"]["application/json"]["schema"] = schema;
}

Json Writer::MakeResponses(const MethodDescriptor& method) {
  Json schema = schemas_.MakeSchema(*method.output_type());
  Json answer = {{"description", method.server_streaming()
                                     ? "A line, or an event, for each message of the stream."
                                     : "Done."}};
  if (method.output_type()->full_name() == "google.api.HttpBody") {
    answer["description"] = "The file.";
    answer["content"]["*/*"]["schema"] = {{"type", "string"}};
  } else if (method.server_streaming()) {
    const Json line = {{"type", "object"}, {"properties", {{"result", std::move(schema)}}}};
    answer["content"]["application/x-ndjson"]["schema"] = line;
    answer["content"]["text/event-stream"]["schema"] = line;
  } else {
    answer["content"]["application/json"]["schema"] = std::move(schema);
  }
  return {{"200", std::move(answer)}, {"default", {{"$ref", "#/components/responses/Error"}}}};
}

void Writer::AddOwn(const BuiltinRoute& route) {
  Json operation = Json::object();
  operation["tags"] = Json::array({kGatewayTag});
  operation["operationId"] = absl::StrCat(kGatewayTag, "_", std::string(route.name));
  operation["summary"] = route.summary;
  if (!route.about.empty()) operation["description"] = route.about;
  operation["parameters"] = Json::array();
  for (const BuiltinRoute::Parameter& each : route.parameters) {
    operation["parameters"].push_back(
        {{"name", each.name},
         {"in", "query"},
         {"description", each.about},
         {"schema", {{"type", "array"}, {"items", {{"type", "string"}}}}}});
  }
  Json answer = {{"description", "Done."}};
  const bool is_object =
      route.kind == BuiltinRoute::Kind::kDescription || route.kind == BuiltinRoute::Kind::kStreams;
  answer["content"][std::string(route.content_type)]["schema"] = {
      {"type", is_object ? "object" : "string"}};
  operation["responses"] = {{"200", std::move(answer)},
                            {"default", {{"$ref", "#/components/responses/Error"}}}};
  if (route.open) operation["security"] = Json::array();
  paths_[std::string(route.path)]["get"] = std::move(operation);
}

std::string Writer::Finish() {
  tags_.push_back({{"name", kGatewayTag}, {"description", "Routes that belong to no service."}});
  for (const BuiltinRoute& route : GetBuiltinRoutes()) AddOwn(route);
  const Json error = {{"type", "object"},
                      {"properties",
                       {{"error",
                         {{"type", "object"},
                          {"properties",
                           {{"code", {{"type", "integer"}, {"description", "gRPC status code"}}},
                            {"reason", {{"type", "string"}, {"description", "name of the code"}}},
                            {"error",
                             {{"type", "string"},
                              {"description",
                               "what happened, to which resource, and what to "
                               "do"}}}}}}}}}};
  Json document;
  document["openapi"] = "3.1.0";
  document["info"] = {{"title", "Resolute"}, {"version", source_.version}, {"description", kAbout}};
  document["servers"] = Json::array({{{"url", "/"}}});
  document["security"] = Json::array({{{"token", Json::array()}}});
  document["tags"] = std::move(tags_);
  document["paths"] = std::move(paths_);
  document["components"]["securitySchemes"]["token"] = {
      {"type", "http"},
      {"scheme", "bearer"},
      {"description", "A session token from /api/v1/auth/login, or an access token."}};
  document["components"]["responses"]["Error"] = {
      {"description", "The error."}, {"content", {{"application/json", {{"schema", error}}}}}};
  document["components"]["schemas"] = schemas_.TakeSchemas();
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

absl::StatusOr<std::string> MakeOpenApi(const ApiSource& source) {
  google::protobuf::FileDescriptorSet files;
  if (!files.ParseFromArray(source.descriptors.data(),
                            static_cast<int>(source.descriptors.size()))) {
    return absl::InternalError("the descriptors of the API cannot be read");
  }
  google::protobuf::SimpleDescriptorDatabase database;
  for (const auto& file : files.file()) database.Add(file);
  const google::protobuf::DescriptorPool pool(&database);
  Writer writer(source);
  for (const std::string& name : source.services) {
    const ServiceDescriptor* service = pool.FindServiceByName(name);
    if (service != nullptr) DET_RETURN_IF_ERROR(writer.Add(*service));
  }
  return writer.Finish();
}

}  // namespace det::gateway
