#include "proto/http_rule.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "google/api/annotations.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/wrappers.pb.h"
#include "proto/field_text.h"
#include "proto/http_path.h"

namespace det::proto {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Returns the path with values of `message`, from which these fields are removed.
absl::StatusOr<std::string> TakePath(const std::string& pattern, Message* message) {
  DET_ASSIGN_OR_RETURN(const std::vector<PathSegment> segments, ParsePathTemplate(pattern));
  std::string path;
  for (const PathSegment& segment : segments) {
    absl::StrAppend(&path, "/");
    if (segment.field.empty()) {
      path += segment.literal;
      continue;
    }
    const absl::StatusOr<std::string> text = FieldToText(segment.field, *message);
    if (!text.ok() || text->empty()) {
      return absl::InvalidArgumentError(absl::StrCat(segment.field, ": must not be empty"));
    }
    path += PercentEncode(*text, segment.rest ? "/" : "");
  }
  for (const PathSegment& segment : segments) ClearFieldAt(segment.field, message);
  return path.empty() ? "/" : path;
}

absl::StatusOr<std::string> TakeBody(const std::string& name, Message* message) {
  if (name == "*") {
    DET_ASSIGN_OR_RETURN(std::string body, ToJson(*message));
    message->Clear();
    return body;
  }
  const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(name);
  const auto* reflection = message->GetReflection();
  absl::StatusOr<std::string> body;
  if (field == nullptr || field->is_repeated()) {
    body = absl::InvalidArgumentError(absl::StrCat("there is no singular field ", name));
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    body = ToJson(reflection->GetMessage(*message, field));
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    google::protobuf::StringValue text;
    text.set_value(reflection->GetString(*message, field));
    body = ToJson(text);
  } else {
    body = absl::InvalidArgumentError(
        absl::StrCat("body field ", name, " is neither a message nor a string"));
  }
  if (body.ok()) reflection->ClearField(message, field);
  return body;
}

// Returns an empty pattern if there is no rule.
RulePattern GetPattern(const google::api::HttpRule& rule) {
  switch (rule.pattern_case()) {
    case google::api::HttpRule::kGet:
      return {"GET", rule.get(), rule.body()};
    case google::api::HttpRule::kPut:
      return {"PUT", rule.put(), rule.body()};
    case google::api::HttpRule::kPost:
      return {"POST", rule.post(), rule.body()};
    case google::api::HttpRule::kDelete:
      return {"DELETE", rule.delete_(), rule.body()};
    case google::api::HttpRule::kPatch:
      return {"PATCH", rule.patch(), rule.body()};
    case google::api::HttpRule::kCustom:
      return {rule.custom().kind(), rule.custom().path(), rule.body()};
    case google::api::HttpRule::PATTERN_NOT_SET:
      break;
  }
  return {};
}

}  // namespace

std::vector<RulePattern> GetPatterns(const google::protobuf::MethodDescriptor& method) {
  const google::api::HttpRule& rule = method.options().GetExtension(google::api::http);
  std::vector<RulePattern> patterns = {GetPattern(rule)};
  for (const google::api::HttpRule& more : rule.additional_bindings()) {
    patterns.push_back(GetPattern(more));
  }
  std::erase_if(patterns, [](const RulePattern& pattern) { return pattern.verb.empty(); });
  if (patterns.empty()) {
    patterns.push_back(
        {"POST", absl::StrCat("/", method.service()->full_name(), "/", method.name()), "*"});
  }
  return patterns;
}

absl::StatusOr<HttpRequest> ToHttp(const google::protobuf::MethodDescriptor& method,
                                   const Message& message) {
  const RulePattern pattern = GetPatterns(method).front();
  const std::unique_ptr<Message> rest(message.New());
  rest->CopyFrom(message);
  HttpRequest request;
  request.verb = pattern.verb;
  DET_ASSIGN_OR_RETURN(request.path, TakePath(pattern.path, rest.get()));
  if (!pattern.body.empty()) {
    DET_ASSIGN_OR_RETURN(request.body, TakeBody(pattern.body, rest.get()));
  }
  DET_ASSIGN_OR_RETURN(const auto query, FieldsToQuery(*rest));
  if (!query.empty()) {
    absl::StrAppend(&request.path, "?", absl::StrJoin(query, "&", [](std::string* out, auto& item) {
      absl::StrAppend(out, PercentEncode(item.first), "=", PercentEncode(item.second));
    }));
  }
  return request;
}

}  // namespace det::proto
