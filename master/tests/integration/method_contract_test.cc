// The contract of all methods: creating methods accept an idempotency key, changing methods write
// one audit record, and the content of the records.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "det/api/v1/auth.grpc.pb.h"
#include "det/api/v1/master.grpc.pb.h"
#include "det/api/v1/token.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/auth/permissions.h"
#include "master/tests/testing/integration_fixture.h"
#include <google/protobuf/descriptor.h>

namespace det::tests {
namespace {

using google::protobuf::MethodDescriptor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A field that no message has: a different request with the same meaning.
constexpr char kUnknownField[] = "\xC0\x3E\x01";

class MethodContractTest : public MasterIntegrationTest {
 protected:
  void ForEach(const std::function<void(const MethodDescriptor&, const auth::Requirement&)>& see) {
    const auto* pool = google::protobuf::DescriptorPool::generated_pool();
    for (const std::string& name : master_.services()) {
      const auto* service = pool->FindServiceByName(name);
      for (int i = 0; i < service->method_count(); ++i) {
        const MethodDescriptor& method = *service->method(i);
        if (!method.server_streaming() && !method.client_streaming()) {
          see(method, auth::GetRequirement(method.full_name()));
        }
      }
    }
  }
  // Calls as the administrator.
  grpc::Status Call(const MethodDescriptor& method, const std::string& request = "",
                    const std::string& key = "") {
    master_.AddSession("user", store::SessionRecord::Kind::kUser);  // also after a logout
    CallContext context("user");
    if (!key.empty()) context.AddMetadata("idempotency-key", key);
    return CallMethod(master_.channel(), method, context, request).status;
  }
  // The audit records, newest first; only those of `method` if it is set.
  std::vector<store::AuditRecord> Records(const std::string& method = "") {
    master_.audit().Flush();
    auto records = *master_.store().audit().ListAudit({.limit = 0});
    std::erase_if(records, [&](const auto& each) {
      return !method.empty() && each.method != "det.api.v1." + method;
    });
    return records;
  }
  grpc::Status LogIn(const std::string& name, const std::string& password) {
    const auto stub = api::AuthService::NewStub(master_.channel());
    grpc::ClientContext context;
    api::LoginRequest request;
    request.set_username(name);
    request.set_password(password);
    api::LoginResponse response;
    const grpc::Status status = stub->Login(&context, request, &response);
    session_ = response.token();
    return status;
  }
  std::string session_;
};

bool HasCreateVerb(const std::string& name) {
  const std::vector<std::string> words = {"Create", "Post", "Add", "Continue", "Fork", "Test"};
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return absl::StartsWith(name, word); });
}

TEST_F(MethodContractTest, CreateMethodsAcceptAnIdempotencyKey) {
  int making = 0;
  ForEach([&](const MethodDescriptor& method, const auth::Requirement& needs) {
    if (!needs.creates) {
      // Reports can be repeated without a key.
      EXPECT_FALSE(needs.changes() && !needs.never_audited && HasCreateVerb(method.name()))
          << method.full_name() << " creates a resource: set `creates` in its option det.access";
      return;
    }
    ++making;
    Call(method, "", method.full_name());
    const grpc::Status other = Call(method, kUnknownField, method.full_name());
    EXPECT_THAT(other.error_message(), HasSubstr("used for a different request"))
        << method.full_name() << " must check the idempotency key";
  });
  EXPECT_GE(making, 16);
}

TEST_F(MethodContractTest, ChangingMethodsWriteOneAuditRecord) {
  int changing = 0;
  ForEach([&](const MethodDescriptor& method, const auth::Requirement& needs) {
    if (needs.kind != auth::PrincipalKind::kUser) return;
    const std::string name = method.full_name().substr(std::string("det.api.v1.").size());
    const size_t before = Records(name).size();
    Call(method);
    EXPECT_EQ(Records(name).size() - before, needs.is_audited() ? 1u : 0u) << name;
    changing += needs.is_audited();
  });
  EXPECT_GT(changing, 80);
}

TEST_F(MethodContractTest, AuditRecordNamesTheCreatedResource) {
  const int experiment = Create();
  EXPECT_EQ(Records().front().target, absl::StrCat("made experiment ", experiment));
  api::CreateExperimentRequest request = Request();
  request.set_parent_id(experiment);
  request.set_project_id(1);
  api::CreateExperimentResponse response;
  ASSERT_TRUE(Create(request, &response).ok());
  EXPECT_EQ(Records().front().target,
            absl::StrCat("project 1, made experiment ", response.experiment().id()));
  request.set_config("nonsense");
  EXPECT_FALSE(Create(request, &response).ok());
  EXPECT_EQ(Records().front().target, "project 1");
}

TEST_F(MethodContractTest, RecordsLoginsAndLogouts) {
  EXPECT_FALSE(LogIn("nobody", "pw").ok());
  EXPECT_THAT(Records(), IsEmpty()) << "unknown users must not fill the database";
  EXPECT_FALSE(LogIn("admin", "wrong").ok());
  EXPECT_TRUE(LogIn("admin", "pw").ok());
  const auto stub = api::AuthService::NewStub(master_.channel());
  CallContext context(session_);
  api::LogoutResponse response;
  EXPECT_TRUE(stub->Logout(&context, {}, &response).ok());
  const auto records = Records();
  ASSERT_EQ(records.size(), 3u);
  std::vector<std::string> calls;
  for (const auto& each : records) {
    calls.push_back(absl::StrCat(each.method.substr(each.method.rfind('.') + 1), " ", each.code));
    EXPECT_EQ(each.caller, "admin");
    EXPECT_TRUE(each.user.has_value());
  }
  EXPECT_THAT(calls, ElementsAre("Logout OK", "Login OK", "Login UNAUTHENTICATED"));
  EXPECT_EQ(records[1].target, "username admin");
}

TEST_F(MethodContractTest, AuditRecordNamesTheAccessToken) {
  const auto tokens = api::TokenService::NewStub(master_.channel());
  CallContext first("user");
  api::PostAccessTokenRequest post;
  post.set_user_id(master_.store().users().GetUserByName("admin")->id.value());
  api::PostAccessTokenResponse made;
  const grpc::Status status = tokens->PostAccessToken(&first, post, &made);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(Records().front().access_token, 0);
  EXPECT_EQ(Records().front().target, absl::StrCat("made token_id ", made.token_id()));
  CallContext second(made.token());
  api::KillExperimentRequest kill;
  kill.set_id(77);
  api::KillExperimentResponse killed;
  EXPECT_FALSE(experiments_->KillExperiment(&second, kill, &killed).ok());
  EXPECT_EQ(Records().front().access_token, made.token_id());

  CallContext third("user");
  api::GetAuditResponse shown;
  ASSERT_TRUE(api::MasterService::NewStub(master_.channel())->GetAudit(&third, {}, &shown).ok());
  EXPECT_EQ(shown.records(0).access_token_id(), made.token_id());
}

}  // namespace
}  // namespace det::tests
