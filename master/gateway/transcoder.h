// Transcoding between HTTP/JSON and gRPC, from descriptors, independent of concrete services.
//
// Used by http_server.cc on its threads; const after construction. Does no I/O.
#ifndef MASTER_GATEWAY_TRANSCODER_H_
#define MASTER_GATEWAY_TRANSCODER_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/gateway/field_mask.h"
#include "proto/http_rule.h"

namespace det::proto {
class WrittenParts;
}  // namespace det::proto

namespace det::gateway {

class Transcoder {
 public:
  // INVALID_ARGUMENT if HTTP rules of services conflict.
  static absl::StatusOr<Transcoder> Make(
      const std::vector<const google::protobuf::ServiceDescriptor*>& services);

  // The method that a request line selects.
  struct Route {
    proto::HttpRouter::Match match;
    std::string query;
    // The parameter ?fields=, for unary methods with a JSON response; removed from `query`.
    std::optional<std::string> fields;
    std::string method;  // "det.api.v1.TrialService.GetTrial"
  };
  // `target` includes the query. NOT_FOUND: no such path. UNIMPLEMENTED: the path does not support
  // this verb.
  absl::StatusOr<Route> Find(std::string_view verb, std::string_view target) const;

  struct Call {
    std::string path;  // gRPC's: "/det.api.v1.TrialService/GetTrial"
    bool streams = false;
    const google::protobuf::Descriptor* output = nullptr;
    std::shared_ptr<google::protobuf::Message> request;
    std::optional<FieldMask> mask;
  };
  // INVALID_ARGUMENT: a value cannot be parsed, or a requested field is unknown.
  static absl::StatusOr<Call> Read(const Route& route, std::string_view body);

  // Whether the method streams google.api.HttpBody: raw bytes.
  static bool SendsFile(const Call& call);

  // Converts a serialized response to JSON.
  static absl::StatusOr<std::string> Write(const google::protobuf::Descriptor& output,
                                           std::string_view response);
  // The body to send: JSON, or the content of a google.api.HttpBody.
  struct Body {
    std::string content_type;
    std::string text;
  };
  static absl::StatusOr<Body> WriteBody(const Call& call, std::string_view response);
  // `written`: parts of the response whose JSON is known.
  static absl::StatusOr<Body> WriteBody(const Call& call, const google::protobuf::Message& response,
                                        const proto::WrittenParts& written);

  // Returns an empty response of the call.
  static std::shared_ptr<google::protobuf::Message> MakeResponse(const Call& call);

 private:
  explicit Transcoder(proto::HttpRouter router) : router_(std::move(router)) {}

  proto::HttpRouter router_;
};

// {"error":{"code":5,"reason":"NotFound","error":"trial 7 not found"}}
std::string ErrorJson(const absl::Status& status);
// The same error with the members that existing clients read of streams: grpcCode, httpCode,
// httpStatus, message and details.
std::string StreamErrorJson(const absl::Status& status);
// The same error with the member `message`, which existing clients read outside of /api/v1.
std::string PlainErrorJson(const absl::Status& status);
int ToHttpStatus(absl::StatusCode code);

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_TRANSCODER_H_
