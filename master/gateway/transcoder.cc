#include "master/gateway/transcoder.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "google/api/httpbody.pb.h"
#include "google/protobuf/arena.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/message.h"
#include "proto/http_path.h"
#include "proto/json_writer.h"
#include <nlohmann/json.hpp>

namespace det::gateway {
namespace {

struct Code {
  int http;
  const char* reason;
  const char* phrase;  // of the HTTP status
};

// Indexed by absl::StatusCode, which equals gRPC's.
constexpr Code kCodes[] = {
    {200, "OK", "OK"},
    {499, "Canceled", "Client Closed Request"},
    {500, "Unknown", "Internal Server Error"},
    {400, "InvalidArgument", "Bad Request"},
    {504, "DeadlineExceeded", "Gateway Timeout"},
    {404, "NotFound", "Not Found"},
    {409, "AlreadyExists", "Conflict"},
    {403, "PermissionDenied", "Forbidden"},
    {429, "ResourceExhausted", "Too Many Requests"},
    {400, "FailedPrecondition", "Bad Request"},
    {409, "Aborted", "Conflict"},
    {400, "OutOfRange", "Bad Request"},
    {501, "Unimplemented", "Not Implemented"},
    {500, "Internal", "Internal Server Error"},
    {503, "Unavailable", "Service Unavailable"},
    {500, "DataLoss", "Internal Server Error"},
    {401, "Unauthenticated", "Unauthorized"},
};

// Maximum nesting of messages; one level of a Struct counts as three.
constexpr int kMaxDepth = 500;

const Code& ParseCode(absl::StatusCode code) {
  const auto index = static_cast<size_t>(code);
  return kCodes[index < std::size(kCodes) ? index : 2];
}

const google::protobuf::Message& Prototype(const google::protobuf::Descriptor& type) {
  return *google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type);
}

bool IsHttpBody(const google::protobuf::Descriptor& type) {
  return type.full_name() == google::api::HttpBody::descriptor()->full_name();
}

// Removes ?fields= from the query.
void TakeFields(Transcoder::Route* route) {
  std::vector<std::string> rest;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(route->query, '&'))) {
    const auto named = proto::ParseQuery(part);
    if (named.empty() || named.front().first != "fields") {
      rest.push_back(part);
    } else if (route->fields) {
      absl::StrAppend(&*route->fields, ",", named.front().second);
    } else {
      route->fields = named.front().second;
    }
  }
  if (route->fields) route->query = absl::StrJoin(rest, "&");
}

}  // namespace

absl::StatusOr<Transcoder> Transcoder::Make(
    const std::vector<const google::protobuf::ServiceDescriptor*>& services) {
  proto::HttpRouter router;
  for (const auto* service : services) DET_RETURN_IF_ERROR(router.Add(*service));
  return Transcoder(std::move(router));
}

absl::StatusOr<Transcoder::Route> Transcoder::Find(std::string_view verb,
                                                   std::string_view target) const {
  const size_t question = target.find('?');
  Route route;
  DET_ASSIGN_OR_RETURN(route.match, router_.Find(verb, target));
  if (question != std::string_view::npos) route.query = std::string(target.substr(question + 1));
  route.method = route.match.method->full_name();
  const google::protobuf::MethodDescriptor& method = *route.match.method;
  if (!method.server_streaming() && !IsHttpBody(*method.output_type())) {
    TakeFields(&route);
  }
  return route;
}

absl::StatusOr<Transcoder::Call> Transcoder::Read(const Route& route, std::string_view body) {
  const google::protobuf::MethodDescriptor& method = *route.match.method;
  Call call;
  call.request.reset(Prototype(*method.input_type()).New());
  DET_RETURN_IF_ERROR(proto::HttpRouter::Fill(route.match, route.query, body, call.request.get()));
  call.path = absl::StrCat("/", method.service()->full_name(), "/", method.name());
  call.streams = method.server_streaming();
  call.output = method.output_type();
  if (route.fields) {
    DET_ASSIGN_OR_RETURN(call.mask, FieldMask::Parse(*route.fields, *method.output_type()));
  }
  return call;
}

bool Transcoder::SendsFile(const Call& call) { return call.streams && IsHttpBody(*call.output); }

absl::StatusOr<std::string> Transcoder::Write(const google::protobuf::Descriptor& output,
                                              std::string_view response) {
  // A page consists of thousands of small messages that are freed together.
  google::protobuf::Arena arena;
  google::protobuf::Message* const message = Prototype(output).New(&arena);
  google::protobuf::io::CodedInputStream bytes(reinterpret_cast<const uint8_t*>(response.data()),
                                               static_cast<int>(response.size()));
  // One deep value must not fail a whole page: stored values may be older than the limit for new
  // ones.
  bytes.SetRecursionLimit(kMaxDepth);
  if (!message->ParseFromCodedStream(&bytes) || !bytes.ConsumedEntireMessage()) {
    return absl::InternalError(absl::StrCat("cannot read a ", output.full_name()));
  }
  return proto::WriteResponseJson(*message);
}

absl::StatusOr<Transcoder::Body> Transcoder::WriteBody(const Call& call,
                                                       std::string_view response) {
  if (!IsHttpBody(*call.output)) {
    DET_ASSIGN_OR_RETURN(std::string json, Write(*call.output, response));
    if (call.mask) {
      DET_ASSIGN_OR_RETURN(json, call.mask->Apply(json));
    }
    return Body{"application/json", std::move(json)};
  }
  google::api::HttpBody body;
  if (!body.ParseFromArray(response.data(), static_cast<int>(response.size()))) {
    return absl::InternalError("cannot read a google.api.HttpBody");
  }
  return Body{body.content_type(), body.data()};
}

absl::StatusOr<Transcoder::Body> Transcoder::WriteBody(const Call& call,
                                                       const google::protobuf::Message& response,
                                                       const proto::WrittenParts& written) {
  if (const auto* body = dynamic_cast<const google::api::HttpBody*>(&response)) {
    return Body{body->content_type(), body->data()};
  }
  DET_ASSIGN_OR_RETURN(std::string json, proto::WriteResponseJson(response, &written));
  if (call.mask) {
    DET_ASSIGN_OR_RETURN(json, call.mask->Apply(json));
  }
  return Body{"application/json", std::move(json)};
}

std::shared_ptr<google::protobuf::Message> Transcoder::MakeResponse(const Call& call) {
  return std::shared_ptr<google::protobuf::Message>(Prototype(*call.output).New());
}

namespace {

nlohmann::json ToErrorJson(const absl::Status& status) {
  return {{"error",
           {{"code", static_cast<int>(status.code())},
            {"reason", ParseCode(status.code()).reason},
            {"error", std::string(status.message())}}}};
}

std::string Dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string ErrorJson(const absl::Status& status) { return Dump(ToErrorJson(status)); }

std::string StreamErrorJson(const absl::Status& status) {
  nlohmann::json json = ToErrorJson(status);
  const Code& code = ParseCode(status.code());
  json["error"].update({{"grpcCode", static_cast<int>(status.code())},
                        {"httpCode", code.http},
                        {"httpStatus", code.phrase},
                        {"message", std::string(status.message())},
                        {"details", nlohmann::json::array()}});
  return Dump(json);
}

std::string PlainErrorJson(const absl::Status& status) {
  nlohmann::json json = ToErrorJson(status);
  json["message"] = std::string(status.message());
  return Dump(json);
}

int ToHttpStatus(absl::StatusCode code) { return ParseCode(code).http; }

}  // namespace det::gateway
