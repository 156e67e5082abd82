#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "google/api/annotations.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/wrappers.pb.h"
#include "proto/enum_names.h"
#include "proto/field_text.h"
#include "proto/http_path.h"
#include "proto/http_rule.h"
#include "proto/nearest_field.h"

namespace det::proto {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

struct Target {
  const google::protobuf::MethodDescriptor* method = nullptr;
  std::string body;
  std::vector<PathSegment> segments;
};

}  // namespace

// A trie over segments: at each level a literal takes precedence over a field that matches one
// segment, which takes precedence over a field that matches all remaining segments.
struct HttpRouter::Tree {
  std::map<std::string, std::unique_ptr<Tree>, std::less<>> literals;
  std::unique_ptr<Tree> any;
  std::unique_ptr<Tree> rest;
  std::map<std::string, Target, std::less<>> targets;  // verb -> target

  Tree* Child(const PathSegment& segment) {
    std::unique_ptr<Tree>& child = segment.field.empty() ? literals[segment.literal]
                                   : segment.rest        ? rest
                                                         : any;
    if (child == nullptr) child = std::make_unique<Tree>();
    return child.get();
  }

  // Returns the target of `verb` for segments[i...]; adds the verbs that the path supports instead
  // to `others`.
  const Target* Find(const std::vector<std::string>& segments, size_t i, std::string_view verb,
                     std::set<std::string>* others) const {
    if (i == segments.size()) {
      const auto it = targets.find(verb);
      if (it != targets.end()) return &it->second;
      for (const auto& [other, unused] : targets) others->insert(other);
      return nullptr;
    }
    const auto literal = literals.find(segments[i]);
    const Target* found = nullptr;
    if (literal != literals.end()) found = literal->second->Find(segments, i + 1, verb, others);
    if (found == nullptr && any != nullptr && !segments[i].empty()) {
      found = any->Find(segments, i + 1, verb, others);
    }
    if (found == nullptr && rest != nullptr) {
      found = rest->Find(segments, segments.size(), verb, others);
    }
    return found;
  }
};

HttpRouter::HttpRouter() : tree_(std::make_unique<Tree>()) {}
HttpRouter::~HttpRouter() = default;
HttpRouter::HttpRouter(HttpRouter&&) noexcept = default;

absl::Status HttpRouter::Add(const google::protobuf::ServiceDescriptor& service) {
  for (int i = 0; i < service.method_count(); ++i) {
    const google::protobuf::MethodDescriptor* method = service.method(i);
    for (const RulePattern& pattern : GetPatterns(*method)) {
      Target target{method, pattern.body, {}};
      DET_ASSIGN_OR_RETURN(target.segments, ParsePathTemplate(pattern.path));
      Tree* node = tree_.get();
      for (const PathSegment& segment : target.segments) node = node->Child(segment);
      const auto [it, added] = node->targets.emplace(pattern.verb, std::move(target));
      if (!added) {
        return absl::InvalidArgumentError(
            absl::StrCat(method->full_name(), " and ", it->second.method->full_name(),
                         " have the same HTTP rule: ", pattern.verb, " ", pattern.path));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<HttpRouter::Match> HttpRouter::Find(std::string_view verb,
                                                   std::string_view path) const {
  path = path.substr(0, path.find('?'));
  if (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  std::vector<std::string> segments;
  if (path.size() > 1) {
    for (absl::string_view part :
         absl::StrSplit(absl::string_view(path.data() + 1, path.size() - 1), '/')) {
      segments.push_back(PercentDecode({part.data(), part.size()}, /*query=*/false));
    }
  }
  std::set<std::string> others;
  const Target* target = tree_->Find(segments, 0, verb, &others);
  const absl::string_view shown(path.data(), path.size());
  if (target == nullptr && !others.empty()) {
    return absl::UnimplementedError(
        absl::StrCat(shown, " supports only ", absl::StrJoin(others, ", ")));
  }
  if (target == nullptr) return absl::NotFoundError(absl::StrCat("unknown path ", shown));
  Match match;
  match.method = target->method;
  match.body_field = target->body;
  for (size_t i = 0; i < target->segments.size(); ++i) {
    const PathSegment& segment = target->segments[i];
    if (segment.field.empty()) continue;
    match.path_fields[segment.field] =
        segment.rest
            ? absl::StrJoin(segments.begin() + static_cast<int64_t>(i), segments.end(), "/")
            : segments[i];
  }
  return match;
}

namespace {

absl::Status ReadBody(std::string_view body, Message* message) {
  std::string json(body);
  const absl::Status known = CompleteEnumNames(&json, *message->GetDescriptor());
  // An error of the JSON itself is reported first.
  DET_RETURN_IF_ERROR(FromJson(json, message));
  return known;
}

// Sets the field that is the whole body: a message, a string or a list.
absl::Status FillField(const std::string& name, std::string_view body, Message* message) {
  const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(name);
  const auto* reflection = message->GetReflection();
  if (field != nullptr && field->is_repeated()) {
    // A list is parsed as if it had its name; other content is rejected.
    const size_t begin = body.find_first_not_of(" \t\r\n");
    if (begin == body.npos || body[begin] != '[') {
      return absl::InvalidArgumentError(absl::StrCat("the body must be a JSON array of ", name));
    }
    const std::unique_ptr<Message> list(message->New());
    DET_RETURN_IF_ERROR(ReadBody(
        absl::StrCat("{\"", field->name(), "\":", absl::string_view(body.data(), body.size()), "}"),
        list.get()));
    reflection->SwapFields(message, list.get(), {field});
    return absl::OkStatus();
  }
  if (field != nullptr) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return ReadBody(body, reflection->MutableMessage(message, field));
    }
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      // The parser would accept an object, and other fields in it.
      const size_t begin = body.find_first_not_of(" \t\r\n");
      if (begin == body.npos || body[begin] != '"') {
        return absl::InvalidArgumentError(
            absl::StrCat("the body must be ", name, " as a JSON string"));
      }
      google::protobuf::StringValue text;
      DET_RETURN_IF_ERROR(FromJson(body, &text));
      reflection->SetString(message, field, text.value());
      return absl::OkStatus();
    }
  }
  return absl::InternalError(
      absl::StrCat("body field ", name, " is neither a message nor a string"));
}

// Returns whether a query can set fields of the method that its path does not contain.
bool TakesQuery(const google::protobuf::MethodDescriptor& method) {
  std::set<std::string> in_path;
  for (const RulePattern& pattern : GetPatterns(method)) {
    const auto segments = ParsePathTemplate(pattern.path);
    if (!segments.ok()) continue;
    for (const PathSegment& segment : *segments) in_path.insert(segment.field);
  }
  const google::protobuf::Descriptor& type = *method.input_type();
  for (int i = 0; i < type.field_count(); ++i) {
    if (!in_path.contains(type.field(i)->name())) return true;
  }
  return false;
}

// An unknown filter must not be ignored, because the response would contain more than requested.
absl::Status RejectParameter(const google::protobuf::MethodDescriptor& method,
                             const std::string& name) {
  if (!TakesQuery(method)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("unknown parameter \"", name,
                                                 "\"; did you mean \"",
                                                 NearestField(*method.input_type(), name), "\""));
}

absl::Status FillFromQuery(const HttpRouter::Match& match, std::string_view query,
                           Message* message) {
  for (const auto& [name, value] : ParseQuery(query)) {
    if (match.body_field == "*") {
      return absl::InvalidArgumentError(
          absl::StrCat("the parameter \"", name, "\" must be in the request body"));
    }
    const absl::Status status = SetFieldFromText(name, value, message);
    DET_RETURN_IF_ERROR(absl::IsNotFound(status) ? RejectParameter(*match.method, name) : status);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status HttpRouter::Fill(const Match& match, std::string_view query, std::string_view body,
                              Message* message) {
  if (!match.body_field.empty() && !body.empty()) {
    DET_RETURN_IF_ERROR(match.body_field == "*" ? ReadBody(body, message)
                                                : FillField(match.body_field, body, message));
  }
  DET_RETURN_IF_ERROR(FillFromQuery(match, query, message));
  // Last, so that only the path determines the object of the request.
  for (const auto& [name, value] : match.path_fields) {
    DET_RETURN_IF_ERROR(SetFieldFromText(name, value, message));
  }
  return absl::OkStatus();
}

}  // namespace det::proto
