// Permissions: calls every method of the table with every role in this workspace, in another one
// and in the cluster, over gRPC and HTTP.
#include <algorithm>
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
#include "master/api/services.h"
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
// Timeouts. An open stream may send nothing, and a long poll waits; a denied one ends at once.
constexpr int kOpenMs = 200;
constexpr int kRefusedMs = 60'000;

const FieldDescriptor* FindField(const Message& message, std::string_view name) {
  return message.GetDescriptor()->FindFieldByName(std::string(name));
}

// Sets the field at `path` to a number or text, in a new element of each list.
void SetField(std::string_view path, const std::string& value, Message* message) {
  const size_t dot = path.find('.');
  const FieldDescriptor* field = FindField(*message, path.substr(0, dot));
  ASSERT_NE(field, nullptr) << message->GetTypeName() << " has no " << path;
  const auto* r = message->GetReflection();
  const bool many = field->is_repeated();
  if (dot != path.npos) {
    return SetField(path.substr(dot + 1), value,
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
  const FieldDescriptor* field = FindField(message, path.substr(0, dot));
  const auto* r = message.GetReflection();
  if (field == nullptr) return false;
  if (field->is_repeated()) return r->FieldSize(message, field) > 0;
  if (!r->HasField(message, field)) return false;
  return dot == path.npos || IsSet(path.substr(dot + 1), r->GetMessage(message, field));
}

// Sets the fields that the HTTP path needs and that are not set yet.
void FillPath(const MethodDescriptor& method, Message* request) {
  const auto& rule = method.options().GetExtension(google::api::http);
  const std::string& path = !rule.get().empty()     ? rule.get()
                            : !rule.post().empty()  ? rule.post()
                            : !rule.put().empty()   ? rule.put()
                            : !rule.patch().empty() ? rule.patch()
                                                    : rule.delete_();
  for (size_t at = path.find('{'); at != path.npos; at = path.find('{', at + 1)) {
    const std::string field = path.substr(at + 1, path.find_first_of("}=", at) - at - 1);
    if (!IsSet(field, *request)) SetField(field, "1", request);
  }
}

const Permission* FindPermission(const std::string& method) {
  const std::string name = method.substr(std::string_view("det.api.v1.").size());
  for (const Permission& permission : kPermissions) {
    for (const absl::string_view each : absl::StrSplit(
             absl::string_view(permission.methods.data(), permission.methods.size()), ' ')) {
      if (each == name) return &permission;
    }
  }
  return nullptr;
}

struct TestCase {
  const MethodDescriptor& method;
  auth::Requirement needs;
  int32_t workspace = 0;
  const Caller& caller;
};

// The error that the table requires; nullopt if the call is allowed.
std::optional<absl::StatusCode> GetExpectedError(const TestCase& test_case) {
  const auto& [method, needs, workspace, caller] = test_case;
  if (needs.scope == Scope::kSelf) {
    const bool own = needs.field.empty() || workspace == kOwn;
    if (own || (caller.role == Role::kClusterAdmin && caller.workspace == 0)) return std::nullopt;
    return absl::StatusCode::kPermissionDenied;
  }
  const bool names_resource =
      needs.scope >= Scope::kWorkspace || needs.second_scope >= Scope::kWorkspace;
  const bool has_role_here =
      caller.role != Role::kNone && (caller.workspace == 0 || caller.workspace == workspace);
  if (caller.role < needs.role || (needs.scope == Scope::kCluster && caller.workspace != 0)) {
    return absl::StatusCode::kPermissionDenied;
  }
  if (names_resource && !has_role_here) return absl::StatusCode::kNotFound;
  return std::nullopt;
}

class PermissionMatrixTest : public testing::Test {
 protected:
  std::unique_ptr<Message> Request(TwoWorkspaces& cluster, const TestCase& test_case) {
    std::unique_ptr<Message> request(factory_.GetPrototype(test_case.method.input_type())->New());
    const auto put = [&](std::string_view field, Scope where) {
      if (field.empty() || where < Scope::kWorkspace) return;
      SetField(field, cluster.GetName(test_case.workspace, where), request.get());
    };
    // For methods on users: kOwn means the caller, kOther another user.
    if (test_case.needs.scope == Scope::kSelf && !test_case.needs.field.empty()) {
      const model::UserId user = test_case.workspace == kOwn
                                     ? test_case.caller.user
                                     : cluster.GetOtherCaller(test_case.caller).user;
      SetField(test_case.needs.field, absl::StrCat(user.value()), request.get());
    }
    put(test_case.needs.field, test_case.needs.scope);
    put(test_case.needs.second_field, test_case.needs.second_scope);
    FillPath(test_case.method, request.get());
    return request;
  }

  // Calls over gRPC, then over HTTP with the state that the first call left.
  std::vector<CallResult> Call(TwoWorkspaces& cluster, const TestCase& test_case, bool refused) {
    const bool waits = test_case.method.server_streaming() ||
                       std::count(det::api::kLongPolls.begin(), det::api::kLongPolls.end(),
                                  test_case.method.full_name()) > 0;
    const int timeout = !waits || refused ? kRefusedMs : kOpenMs;
    const std::unique_ptr<Message> request = Request(cluster, test_case);
    cluster.SignIn(test_case.caller);
    std::vector<CallResult> answers = {
        cluster.CallOverGrpc(test_case.method, *request, test_case.caller.token, timeout)};
    cluster.SignIn(test_case.caller);
    const auto http =
        cluster.CallOverHttp(test_case.method, *request, test_case.caller.token, timeout);
    if (http) answers.push_back(*http);
    over_http_ += http.has_value();
    return answers;
  }

  void ExpectRefused(TwoWorkspaces& cluster, const TestCase& test_case, absl::StatusCode code) {
    for (const CallResult& answer : Call(cluster, test_case, true)) {
      EXPECT_EQ(answer.code, code) << Describe(test_case) << answer.message;
      ++refused_;
    }
  }
  void ExpectAllowed(TwoWorkspaces& cluster, const TestCase& test_case) {
    for (const CallResult& answer : Call(cluster, test_case, false)) {
      EXPECT_NE(answer.code, absl::StatusCode::kUnauthenticated)
          << Describe(test_case) << answer.message;
      EXPECT_NE(answer.code, absl::StatusCode::kPermissionDenied)
          << Describe(test_case) << answer.message;
      // gRPC's response for a method that no service overrides.
      EXPECT_FALSE(answer.code == absl::StatusCode::kUnimplemented && answer.message.empty())
          << Describe(test_case) << "no service implements the method";
      ++allowed_;
    }
  }
  static std::string Describe(const TestCase& test_case) {
    return absl::StrCat(test_case.method.full_name(), " by ", test_case.caller.token,
                        " on a resource of workspace ", test_case.workspace, ": ");
  }

  void CheckMethod(const MethodDescriptor& method, const auth::Requirement& needs) {
    TwoWorkspaces cluster;
    for (const int32_t workspace : {kOwn, kOther}) {
      for (const Caller& caller : cluster.callers()) {
        const TestCase test_case{method, needs, workspace, caller};
        const auto error = GetExpectedError(test_case);
        if (error) ExpectRefused(cluster, test_case, *error);
      }
    }
    // Only the first allowed caller, which has the lowest role, because its call may delete the
    // resource.
    for (const int32_t workspace : {kOwn, kOther}) {
      for (const Caller& caller : cluster.callers()) {
        const TestCase test_case{method, needs, workspace, caller};
        if (GetExpectedError(test_case)) continue;
        ExpectAllowed(cluster, test_case);
        break;
      }
    }
  }

  google::protobuf::DynamicMessageFactory factory_;
  int refused_ = 0, allowed_ = 0, over_http_ = 0;
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
      // The reviewed table decides what callers may do; the option only tells which field of the
      // request names the resource.
      auth::Requirement expected = needs;
      expected.role = permission->role;
      expected.scope = permission->resource;
      CheckMethod(method, expected);
      ++methods;
    }
  }
  EXPECT_GT(methods, 150);
  EXPECT_GT(refused_, 10 * methods);
  EXPECT_GT(allowed_, 3 * methods);
  EXPECT_GT(over_http_, (refused_ + allowed_) / 3);
}

TEST(PermissionTableTest, AgreesWithTheOptionsOfTheMethods) {
  for (const Permission& permission : kPermissions) {
    for (const absl::string_view name : absl::StrSplit(
             absl::string_view(permission.methods.data(), permission.methods.size()), ' ')) {
      const std::string method = absl::StrCat("det.api.v1.", name);
      const auth::Requirement needs = auth::GetRequirement(method);
      EXPECT_FALSE(needs.is_denied) << method;
      EXPECT_EQ(needs.role, permission.role) << method;
      EXPECT_EQ(needs.scope, permission.resource) << method;
      EXPECT_EQ(needs.read_only, permission.verb == Verb::kReadSecrets) << method;
      // A role alone is enough only where any role suffices, or for the caller's own data.
      if (permission.role > Role::kViewer && permission.resource != Scope::kSelf) {
        EXPECT_NE(needs.permission, model::Permission::kNone) << method;
      }
    }
  }
}

}  // namespace
}  // namespace det::tests
