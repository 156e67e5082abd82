// Between a method of a service and its HTTP form, in both directions, from the descriptors alone.
// The gateway uses it to find the method of a request, the command line to build the request of a
// method: both ends are one text.
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

// An HTTP request as far as a rule decides it.
struct HttpRequest {
  std::string verb;  // "GET"
  std::string path;  // with the query, percent-encoded: "/api/v1/trials/3/logs?follow=true"
  std::string body;  // JSON, or empty
};

// Builds the request that calls `method` with `message`. INVALID_ARGUMENT when a field that the
// path needs is not set.
absl::StatusOr<HttpRequest> ToHttp(const google::protobuf::MethodDescriptor& method,
                                   const google::protobuf::Message& message);

// The methods of some services by verb and path.
class HttpRouter {
 public:
  HttpRouter();
  ~HttpRouter();
  HttpRouter(HttpRouter&&) noexcept;

  // INVALID_ARGUMENT when a rule cannot be parsed or is taken already.
  absl::Status Add(const google::protobuf::ServiceDescriptor& service);

  struct Match {
    const google::protobuf::MethodDescriptor* method = nullptr;
    std::map<std::string, std::string> path_fields;  // field path -> decoded value
    std::string body_field;                          // "*", a name, or empty
  };
  // NOT_FOUND for an unknown path; UNIMPLEMENTED when the path is known under other verbs (they are
  // named).
  absl::StatusOr<Match> Find(std::string_view verb, std::string_view path) const;

  // Fills `message` (of the matched method's input type) from path, query and body. JSON names and
  // proto names are both accepted; unknown JSON members are ignored, as old clients send some.
  // INVALID_ARGUMENT names the field whose value cannot be read, or the query key that is no field,
  // with the nearest; whatever is asked of a method that only its path says something to, is
  // ignored.
  static absl::Status Fill(const Match& match, std::string_view query, std::string_view body,
                           google::protobuf::Message* message);

 private:
  struct Tree;
  std::unique_ptr<Tree> tree_;
};

// Protobuf JSON as this API speaks it: lowerCamelCase, defaults written, enumerations by name,
// 64-bit integers as strings.
absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message);
absl::Status FromJson(std::string_view json, google::protobuf::Message* message);

}  // namespace det::proto

#endif  // PROTO_HTTP_RULE_H_
