// Authorization and login, called at the services.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "det/api/v1/agent.grpc.pb.h"
#include "det/api/v1/auth.grpc.pb.h"
#include "gtest/gtest.h"
#include "master/auth/permissions.h"
#include "master/tests/testing/integration_fixture.h"
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

namespace det::tests {
namespace {

// Calls every method of every service as every kind of caller.
TEST(PermissionsTest, ServicesEnforceThePermissions) {
  TestMaster master(store::MakeFakeDatabase());
  grpc::GenericStub stub(master.channel());
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  const std::vector<std::pair<auth::PrincipalKind, std::string>> callers = {
      {auth::PrincipalKind::kNobody, ""},
      {auth::PrincipalKind::kUser, "user"},
      {auth::PrincipalKind::kAgent, "agent"},
      {auth::PrincipalKind::kAllocation, master.MakeTaskToken("1.1.1")}};
  int calls = 0;
  for (const std::string& name : master.services()) {
    const auto* service = pool->FindServiceByName(name);
    ASSERT_NE(service, nullptr) << name;
    for (int i = 0; i < service->method_count(); ++i) {
      for (const auto& [kind, token] : callers) {
        master.AddSession("user", store::SessionRecord::Kind::kUser);  // Logout ends it
        CallContext context(token);
        grpc::CompletionQueue queue;
        const auto call = stub.PrepareCall(
            &context, "/" + service->full_name() + "/" + service->method(i)->name(), &queue);
        void* tag = nullptr;
        bool ok = false;
        const auto wait = [&] { queue.Next(&tag, &ok); };
        call->StartCall(nullptr);
        wait();
        // Set the fields that the method checks first.
        trial::WatchAllocationRequest own;
        if (service->name() == "TrialRuntime") own.set_allocation_id("1.1.1");
        const grpc::Slice slice(own.SerializeAsString());
        if (!service->method(i)->client_streaming()) {
          call->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
        } else {
          call->WritesDone(nullptr);
        }
        wait();
        grpc::ByteBuffer answer;
        do {
          call->Read(&answer, nullptr);
          wait();
        } while (ok);
        grpc::Status status;
        call->Finish(&status, nullptr);
        wait();
        const bool allowed =
            auth::Authorize(service->method(i)->full_name(), {.kind = kind, .admin = true}).ok();
        // The call is authorized, but its empty request does not name the caller's own resources.
        const bool not_its_own =
            absl::StrContains(status.error_message(), "the token of allocation ");
        const bool refused = !not_its_own &&
                             (status.error_code() == grpc::StatusCode::PERMISSION_DENIED ||
                              status.error_code() == grpc::StatusCode::UNAUTHENTICATED) &&
                             service->method(i)->name() != "Login";
        EXPECT_EQ(refused, !allowed) << service->method(i)->full_name() << " by "
                                     << static_cast<int>(kind) << ": " << status.error_message();
        // gRPC's response for a method that no service overrides; it bypasses the pipeline.
        EXPECT_FALSE(status.error_code() == grpc::StatusCode::UNIMPLEMENTED &&
                     status.error_message().empty())
            << service->method(i)->full_name() << " is not implemented";
        ++calls;
      }
    }
  }
  EXPECT_GT(calls, 100);
}

TEST(LoginTest, IsValidUntilLogout) {
  TestMaster master(store::MakeFakeDatabase());
  const auto auth = api::AuthService::NewStub(master.channel());
  const auto login = [&](const std::string& user, const std::string& password,
                         api::LoginResponse* response) {
    grpc::ClientContext context;
    api::LoginRequest request;
    request.set_username(user);
    request.set_password(password);
    return auth->Login(&context, request, response).error_code();
  };
  api::LoginResponse response;
  EXPECT_EQ(login("admin", "wrong", &response), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(login("nobody", "pw", &response), grpc::StatusCode::UNAUTHENTICATED);
  ASSERT_EQ(login("admin", "pw", &response), grpc::StatusCode::OK);
  const auto me = [&] {
    CallContext context(response.token());
    api::GetMeResponse user;
    const grpc::Status status = auth->GetMe(&context, {}, &user);
    if (status.ok()) {
      EXPECT_EQ(user.user().username(), "admin");
    }
    return status.error_code();
  };
  EXPECT_EQ(me(), grpc::StatusCode::OK);
  CallContext context(response.token());
  api::LogoutResponse none;
  EXPECT_TRUE(auth->Logout(&context, {}, &none).ok());
  EXPECT_EQ(me(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST(CallTest, EveryResponseHasTheIdOfItsRequest) {
  TestMaster master(store::MakeFakeDatabase());
  const auto auth = api::AuthService::NewStub(master.channel());
  const auto id_of = [&](const std::string& token, const std::string& given) {
    CallContext context(token);
    if (!given.empty()) context.AddMetadata("x-request-id", given);
    api::GetMeResponse response;
    const grpc::Status status = auth->GetMe(&context, {}, &response);
    EXPECT_EQ(status.ok(), !token.empty());
    const auto& trailing = context.GetServerTrailingMetadata();
    const auto it = trailing.find("x-request-id");
    return it == trailing.end() ? "" : std::string(it->second.data(), it->second.size());
  };
  EXPECT_EQ(id_of("user", "mine"), "mine");
  EXPECT_EQ(id_of("", "mine"), "mine");
  EXPECT_EQ(id_of("user", "").size(), 36u);
  EXPECT_EQ(id_of("user", std::string(129, 'x')).size(), 36u);
  EXPECT_NE(id_of("user", ""), id_of("user", ""));
}

class EditorTest : public MasterIntegrationTest {
 protected:
  EditorTest() {
    const auto ada = master_.store().users().AddUser({.username = "ada"}, model::Role::kEditor);
    EXPECT_TRUE(ada.ok());
    master_.AddSession("ada", store::SessionRecord::Kind::kUser, ada->id);
  }
};

// A user who is not an administrator, but an Editor of the default workspace.
TEST_F(EditorTest, ChangesExperimentsButNotTheCluster) {
  const int id = Create();
  CallContext kill("ada");
  api::KillExperimentRequest request;
  request.set_id(id);
  api::KillExperimentResponse response;
  EXPECT_TRUE(experiments_->KillExperiment(&kill, request, &response).ok());
  EXPECT_EQ(Await(id).state(), api::Experiment::STATE_CANCELED);

  CallContext missing("ada");
  request.set_id(id + 1);
  const grpc::Status none = experiments_->KillExperiment(&missing, request, &response);
  EXPECT_EQ(none.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(none.error_message(), "experiment " + std::to_string(id + 1) + " not found");

  CallContext context("ada");
  const auto agents = api::AgentService::NewStub(master_.channel());
  api::DisableAgentRequest disable;
  disable.set_agent_id("a");
  api::DisableAgentResponse disabled;
  const grpc::Status refused = agents->DisableAgent(&context, disable, &disabled);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_NE(refused.error_message().find("needs the role ClusterAdmin"), std::string::npos);
}

// Opens far more streams, one after the other, than may be open at the same time.
TEST_F(EditorTest, EndedStreamsDoNotCountTowardTheLimit) {
  const int id = Create();
  ASSERT_TRUE(Kill(id).ok());
  for (int i = 0; i < 150; ++i) {
    CallContext context("ada");
    api::WatchExperimentRequest request;
    request.set_experiment_id(id);
    const auto stream = experiments_->WatchExperiment(&context, request);
    api::WatchExperimentResponse response;
    while (stream->Read(&response)) {
    }
    const grpc::Status status = stream->Finish();
    ASSERT_TRUE(status.ok()) << i << ": " << status.error_message();
  }
}

}  // namespace
}  // namespace det::tests
