// Between HTTP/JSON and the gRPC methods, by descriptors alone: knows no service.
//
// Used by http_server.cc on its threads; const after construction. Does no I/O.
#ifndef MASTER_GATEWAY_TRANSCODER_H_
#define MASTER_GATEWAY_TRANSCODER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/gateway/field_mask.h"
#include "proto/http_rule.h"

namespace det::gateway {

class Transcoder {
 public:
  // INVALID_ARGUMENT when the services' HTTP rules contradict each other.
  static absl::StatusOr<Transcoder> Make(
      const std::vector<const google::protobuf::ServiceDescriptor*>& services);

  // What a request's first line asks for.
  struct Route {
    proto::HttpRouter::Match match;
    std::string query;
    // ?fields= of a method that answers one message in JSON; not in `query`. Elsewhere no such
    // thing is known.
    std::optional<std::string> fields;
    std::string method;  // "det.api.v1.TrialService.GetTrial"
  };
  // `target` with the query. NOT_FOUND: no such path. UNIMPLEMENTED: not by this verb.
  absl::StatusOr<Route> Find(std::string_view verb, std::string_view target) const;

  struct Call {
    std::string path;  // gRPC's: "/det.api.v1.TrialService/GetTrial"
    bool streams = false;
    const google::protobuf::Descriptor* output = nullptr;
    std::string request;  // serialised
    std::optional<FieldMask> mask;
  };
  // INVALID_ARGUMENT: a value cannot be read, or a field that is asked for is unknown.
  static absl::StatusOr<Call> Read(const Route& route, std::string_view body);

  // Whether it streams google.api.HttpBody: bytes that go out as they are.
  static bool SendsFile(const Call& call);

  // A serialised answer as JSON.
  static absl::StatusOr<std::string> Write(const google::protobuf::Descriptor& output,
                                           std::string_view response);
  // As it goes out: JSON, but of a method that answers with google.api.HttpBody, as that says.
  struct Body {
    std::string content_type;
    std::string text;
  };
  static absl::StatusOr<Body> WriteBody(const Call& call, std::string_view response);

 private:
  explicit Transcoder(proto::HttpRouter router) : router_(std::move(router)) {}

  proto::HttpRouter router_;
};

// {"error":{"code":5,"reason":"NotFound","error":"trial 7 does not exist"}}
std::string ErrorJson(const absl::Status& status);
int ToHttpStatus(absl::StatusCode code);

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_TRANSCODER_H_
