// Who may do what and where, at the two doors that people come in by: every method of the table, by
// every role held here, elsewhere and for the cluster, over gRPC and over HTTP.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "google/api/annotations.pb.h"
#include "gtest/gtest.h"
#include "master/auth/permissions.h"
#include "master/tests/authz/permission_table.h"
#include "master/tests/testing/two_workspaces.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>

namespace det::tests {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;

constexpr int32_t kOwn = TwoWorkspaces::kOwn;
constexpr int32_t kOther = TwoWorkspaces::kOther;
// A stream that is open may have nothing to say; one that is refused says so at once.
constexpr int kOpenMs = 200;
constexpr int kRefusedMs = 60'000;

const FieldDescriptor* FieldOf(const Message& message, std::string_view name) {
  return message.GetDescriptor()->FindFieldByName(std::string(name));
}

// Puts a number or a text where the path leads, into a new element of each list.
void Put(std::string_view path, const std::string& value, Message* message) {
  const size_t dot = path.find('.');
  const FieldDescriptor* field = FieldOf(*message, path.substr(0, dot));
  ASSERT_NE(field, nullptr) << message->GetTypeName() << " has no " << path;
  const auto* r = message->GetReflection();
  const bool many = field->is_repeated();
  if (dot != path.npos) {
    return Put(path.substr(dot + 1), value,
               many ? r->AddMessage(message, field) : r->MutableMessage(message, field));
  }
  int number = 0;
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    many ? r->AddString(message, field, value) : r->SetString(message, field, value);
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
    r->SetEnumValue(message, field, 1);
  } else {
    ASSERT_EQ(field->cpp_type(), FieldDescriptor::CPPTYPE_INT32) << field->full_name();
    ASSERT_TRUE(absl::SimpleAtoi(value, &number)) << path << ": " << value;
    many ? r->AddInt32(message, field, number) : r->SetInt32(message, field, number);
  }
}

bool IsSet(std::string_view path, const Message& message) {
  const size_t dot = path.find('.');
  const FieldDescriptor* field = FieldOf(message, path.substr(0, dot));
  const auto* r = message.GetReflection();
  if (field == nullptr) return false;
  if (field->is_repeated()) return r->FieldSize(message, field) > 0;
  if (!r->HasField(message, field)) return false;
  return dot == path.npos || IsSet(path.substr(dot + 1), r->GetMessage(message, field));
}

// What a path asks for besides what the rule names.
void FillPath(const MethodDescriptor& method, Message* request) {
  const auto& rule = method.options().GetExtension(google::api::http);
  const std::string& path = !rule.get().empty()     ? rule.get()
                            : !rule.post().empty()  ? rule.post()
                            : !rule.put().empty()   ? rule.put()
                            : !rule.patch().empty() ? rule.patch()
                                                    : rule.delete_();
  for (size_t at = path.find('{'); at != path.npos; at = path.find('{', at + 1)) {
    const std::string field = path.substr(at + 1, path.find_first_of("}=", at) - at - 1);
    if (!IsSet(field, *request)) Put(field, "1", request);
  }
}

const Permission* FindPermission(const std::string& method) {
  const std::string name = method.substr(std::string_view("det.api.v1.").size());
  for (const Permission& permission : kPermissions) {
    for (const absl::string_view each :
         absl::StrSplit(absl::string_view(permission.methods.data(), permission.methods.size()),
                        ' ')) {
      if (each == name) return &permission;
    }
  }
  return nullptr;
}

struct Question {
  const MethodDescriptor& method;
  auth::Requirement needs;
  int32_t lies = 0;
  const Caller& caller;
};

// As the table says; nullopt: it is let in.
std::optional<absl::StatusCode> Refusal(const Question& asked) {
  const auto& [method, needs, lies, caller] = asked;
  if (needs.scope == Scope::kSelf) {
    const bool own = needs.field.empty() || lies == kOwn;
    if (own || (caller.role == Role::kClusterAdmin && caller.workspace == 0)) return std::nullopt;
    return absl::StatusCode::kPermissionDenied;
  }
  const bool names = needs.scope >= Scope::kWorkspace || needs.second_scope >= Scope::kWorkspace;
  const bool here =
      caller.role != Role::kNone && (caller.workspace == 0 || caller.workspace == lies);
  if (caller.role < needs.role || (needs.scope == Scope::kCluster && caller.workspace != 0)) {
    return absl::StatusCode::kPermissionDenied;
  }
  if (names && !here) return absl::StatusCode::kNotFound;
  return std::nullopt;
}

class PermissionMatrixTest : public testing::Test {
 protected:
  std::unique_ptr<Message> Request(TwoWorkspaces& cluster, const Question& asked) {
    std::unique_ptr<Message> request(factory_.GetPrototype(asked.method.input_type())->New());
    const auto put = [&](std::string_view field, Scope where) {
      if (field.empty() || where < Scope::kWorkspace) return;
      Put(field, cluster.Name(asked.lies, where), request.get());
    };
    // Of people: oneself in the one's place, somebody else in the other's.
    if (asked.needs.scope == Scope::kSelf && !asked.needs.field.empty()) {
      const model::UserId user =
          asked.lies == kOwn ? asked.caller.user : cluster.OtherThan(asked.caller).user;
      Put(asked.needs.field, absl::StrCat(user.value()), request.get());
    }
    put(asked.needs.field, asked.needs.scope);
    put(asked.needs.second_field, asked.needs.second_scope);
    FillPath(asked.method, request.get());
    return request;
  }

  // Over both doors, of which the second finds what the first has left.
  std::vector<Answer> Ask(TwoWorkspaces& cluster, const Question& asked, bool refused) {
    const bool unary = !asked.method.server_streaming();
    const int patience = unary || refused ? kRefusedMs : kOpenMs;
    const std::unique_ptr<Message> request = Request(cluster, asked);
    cluster.SignIn(asked.caller);
    std::vector<Answer> answers = {
        cluster.OverGrpc(asked.method, *request, asked.caller.token, patience)};
    cluster.SignIn(asked.caller);
    const auto http = cluster.OverHttp(asked.method, *request, asked.caller.token, patience);
    if (http) answers.push_back(*http);
    over_http_ += http.has_value();
    return answers;
  }

  void ExpectRefused(TwoWorkspaces& cluster, const Question& asked, absl::StatusCode code) {
    for (const Answer& answer : Ask(cluster, asked, true)) {
      EXPECT_EQ(answer.code, code) << Words(asked) << answer.message;
      ++refused_;
    }
  }
  void ExpectLetIn(TwoWorkspaces& cluster, const Question& asked) {
    for (const Answer& answer : Ask(cluster, asked, false)) {
      EXPECT_NE(answer.code, absl::StatusCode::kUnauthenticated) << Words(asked) << answer.message;
      EXPECT_NE(answer.code, absl::StatusCode::kPermissionDenied) << Words(asked) << answer.message;
      // gRPC's response for a method that no service overrides.
      EXPECT_FALSE(answer.code == absl::StatusCode::kUnimplemented && answer.message.empty())
          << Words(asked) << "no service implements the method";
      ++let_in_;
    }
  }
  static std::string Words(const Question& asked) {
    return absl::StrCat(asked.method.full_name(), " by ", asked.caller.token,
                        " on what lies in workspace ", asked.lies, ": ");
  }

  void Judge(const MethodDescriptor& method, const auth::Requirement& needs) {
    TwoWorkspaces cluster;
    for (const int32_t lies : {kOwn, kOther}) {
      for (const Caller& caller : cluster.callers()) {
        const Question asked{method, needs, lies, caller};
        const auto refusal = Refusal(asked);
        if (refusal) ExpectRefused(cluster, asked, *refusal);
      }
    }
    // The weakest that may, first in the list: what it does may leave nothing for others.
    for (const int32_t lies : {kOwn, kOther}) {
      for (const Caller& caller : cluster.callers()) {
        const Question asked{method, needs, lies, caller};
        if (Refusal(asked)) continue;
        ExpectLetIn(cluster, asked);
        break;
      }
    }
  }

  google::protobuf::DynamicMessageFactory factory_;
  int refused_ = 0, let_in_ = 0, over_http_ = 0;
};

TEST_F(PermissionMatrixTest, HoldsOverGrpcAndHttp) {
  int methods = 0;
  for (const std::string& name : TwoWorkspaces().services()) {
    const auto* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
    for (int i = 0; i < service->method_count(); ++i) {
      const MethodDescriptor& method = *service->method(i);
      const auth::Requirement needs = auth::GetRequirement(method.full_name());
      if (needs.is_public || needs.kind != auth::PrincipalKind::kUser) continue;
      const Permission* permission = FindPermission(method.full_name());
      ASSERT_NE(permission, nullptr) << method.full_name() << " is not in permission_table.h";
      // What callers may do is judged by the reviewed table; the option says only where the request
      // names the resource.
      auth::Requirement expected = needs;
      expected.role = permission->role;
      expected.scope = permission->resource;
      Judge(method, expected);
      ++methods;
    }
  }
  EXPECT_GT(methods, 150);
  EXPECT_GT(refused_, 10 * methods);
  EXPECT_GT(let_in_, 3 * methods);
  EXPECT_GT(over_http_, (refused_ + let_in_) / 3);
}

TEST(PermissionTableTest, AgreesWithTheOptionsOfTheMethods) {
  for (const Permission& permission : kPermissions) {
    for (const absl::string_view name :
         absl::StrSplit(absl::string_view(permission.methods.data(), permission.methods.size()),
                        ' ')) {
      const std::string method = absl::StrCat("det.api.v1.", name);
      const auth::Requirement needs = auth::GetRequirement(method);
      EXPECT_FALSE(needs.is_denied) << method;
      EXPECT_EQ(needs.role, permission.role) << method;
      EXPECT_EQ(needs.scope, permission.resource) << method;
      EXPECT_EQ(needs.read_only, permission.verb == Verb::kReadSecrets) << method;
    }
  }
}

}  // namespace
}  // namespace det::tests
