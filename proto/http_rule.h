// Converts between methods of a service and their HTTP form, in both directions, using only the
// descriptors. The gateway finds the method of a request with it, and the command line builds the
// request of a method, so both use the same definition.
//
// Any thread. Does no I/O.
#ifndef PROTO_HTTP_RULE_H_
#define PROTO_HTTP_RULE_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace google::protobuf {
class Descriptor;
class Message;
class MethodDescriptor;
class ServiceDescriptor;
}  // namespace google::protobuf

namespace det::proto {

// The parts of an HTTP request that a rule determines.
struct HttpRequest {
  std::string verb;  // such as "GET"
  std::string path;  // with the query, percent-encoded: "/api/v1/trials/3/logs?follow=true"
  std::string body;  // JSON, or empty
};

// Builds the request that calls `method` with `message`. Returns INVALID_ARGUMENT if a field in the
// path is not set.
absl::StatusOr<HttpRequest> ToHttp(const google::protobuf::MethodDescriptor& method,
                                   const google::protobuf::Message& message);

// Finds methods of services by verb and path.
class HttpRouter {
 public:
  HttpRouter();
  ~HttpRouter();
  HttpRouter(HttpRouter&&) noexcept;

  // Adds the methods of a service. Returns INVALID_ARGUMENT if a rule cannot be parsed or exists
  // already.
  absl::Status Add(const google::protobuf::ServiceDescriptor& service);

  struct Match {
    const google::protobuf::MethodDescriptor* method = nullptr;
    std::map<std::string, std::string> path_fields;  // field path -> decoded value
    std::string body_field;                          // "*", a name, or empty
  };
  // Returns NOT_FOUND for an unknown path; UNIMPLEMENTED with the supported verbs if the path is
  // known under other verbs.
  absl::StatusOr<Match> Find(std::string_view verb, std::string_view path) const;

  // Fills `message` (of the matched method's input type) from path, query and body. Accepts JSON
  // names and proto names; ignores unknown JSON members, because old clients send some. Returns
  // INVALID_ARGUMENT with the name of a field whose value cannot be parsed, or of an unknown query
  // parameter, with a suggestion. The query of a method whose only input is its path is ignored.
  static absl::Status Fill(const Match& match, std::string_view query, std::string_view body,
                           google::protobuf::Message* message);

 private:
  struct Tree;
  std::unique_ptr<Tree> tree_;
};

// The verb, path and body of an HttpRule, in any of its forms.
struct RulePattern {
  std::string verb;
  std::string path;
  std::string body;
};

// Returns all patterns of a method, its main one first. A method without a rule has
// POST /<package>.<Service>/<Method> with the whole message as its body.
std::vector<RulePattern> GetPatterns(const google::protobuf::MethodDescriptor& method);

// Protobuf JSON of this API: lowerCamelCase names, default values included, enumerations by name,
// 64-bit integers as strings.
absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message);
absl::Status FromJson(std::string_view json, google::protobuf::Message* message);

}  // namespace det::proto

#endif  // PROTO_HTTP_RULE_H_
