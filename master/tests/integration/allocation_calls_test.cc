// The methods for an allocation that programs of existing clients call, and users on behalf of it.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "det/api/v1/auth.grpc.pb.h"
#include "det/api/v1/task_runtime.grpc.pb.h"
#include "det/api/v1/token.grpc.pb.h"
#include "det/api/v1/user.grpc.pb.h"
#include "gtest/gtest.h"
#include "master/tests/testing/integration_fixture.h"

namespace det::tests {
namespace {

using grpc::StatusCode;
using Service = api::TaskRuntimeService;

class AllocationCallsTest : public MasterIntegrationTest {
 protected:
  StatusCode ReportReady(const std::string& allocation, const std::string& token) {
    api::AllocationReadyRequest request;
    request.set_allocation_id(allocation);
    api::AllocationReadyResponse response;
    return Call(&Service::Stub::AllocationReady, request, &response, token).error_code();
  }
};

TEST_F(AllocationCallsTest, AcceptsReportsOfAllocationAndItsUsers) {
  FakeAgent agent(master_, "a1", 1);
  const std::string allocation = Run(agent);
  EXPECT_EQ(ReportReady(allocation, token_), StatusCode::OK);
  EXPECT_EQ(ReportReady(allocation, "user"), StatusCode::OK);
  EXPECT_EQ(ReportReady("9.9.0", token_), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(ReportReady("9.9.0", "user"), StatusCode::NOT_FOUND);
  EXPECT_EQ(ReportReady("none", "user"), StatusCode::INVALID_ARGUMENT);
}

TEST_F(AllocationCallsTest, RejectsReportsAfterTheEnd) {
  FakeAgent agent(master_, "a1", 1);
  int experiment = 0;
  const std::string allocation = Run(agent, &experiment);
  agent.Exited(allocation, 0);
  EXPECT_EQ(Await(experiment).state(), api::Experiment::STATE_COMPLETED);
  EXPECT_EQ(ReportReady(allocation, token_), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReportReady(allocation, "user"), StatusCode::NOT_FOUND);
}

TEST_F(AllocationCallsTest, ActsAsOwner_WhileAllocationRuns) {
  FakeAgent agent(master_, "a1", 1);
  int experiment = 0;
  const std::string allocation = Run(agent, &experiment);
  const int other = Create();
  api::GetExperimentRequest request;
  request.set_experiment_id(other);
  api::GetExperimentResponse response;
  const auto read = [&](const std::string& token) {
    return Call(&api::ExperimentService::Stub::GetExperiment, request, &response, token)
        .error_code();
  };
  EXPECT_EQ(read(token_), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(read(owner_token_), StatusCode::OK);
  api::GetMeResponse me;
  ASSERT_TRUE(Call(&api::AuthService::Stub::GetMe, api::GetMeRequest(), &me, owner_token_).ok());
  EXPECT_EQ(me.user().username(), "admin");
  api::PostAccessTokenResponse token;
  EXPECT_EQ(Call(&api::TokenService::Stub::PostAccessToken, api::PostAccessTokenRequest(), &token,
                 owner_token_)
                .error_code(),
            StatusCode::PERMISSION_DENIED);
  api::PostUserRequest user;
  user.mutable_user()->set_username("mallory");
  user.mutable_user()->set_admin(true);
  user.set_password("Passw0rd-of-mallory");
  api::PostUserResponse added;
  EXPECT_EQ(Call(&api::UserService::Stub::PostUser, user, &added, owner_token_).error_code(),
            StatusCode::PERMISSION_DENIED)
      << "the owner is an administrator, but tasks do not administrate the cluster";
  api::LogoutResponse logged_out;
  EXPECT_EQ(Call(&api::AuthService::Stub::Logout, api::LogoutRequest(), &logged_out, owner_token_)
                .error_code(),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(read(owner_token_), StatusCode::OK);
  agent.Exited(allocation, 0);
  EXPECT_EQ(Await(experiment).state(), api::Experiment::STATE_COMPLETED);
  EXPECT_EQ(read(owner_token_), StatusCode::UNAUTHENTICATED);
}

TEST_F(AllocationCallsTest, GathersDataOfPeers) {
  FakeAgent agent(master_, "a1", 1);
  const std::string allocation = Run(agent);
  api::AllocationAllGatherRequest request;
  request.set_allocation_id(allocation);
  request.set_request_uuid("one");
  request.set_num_peers(1);
  (*request.mutable_data()->mutable_fields())["a"].set_number_value(1);
  api::AllocationAllGatherResponse response;
  const grpc::Status status = Call(&Service::Stub::AllocationAllGather, request, &response, token_);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response.data_size(), 1);
  EXPECT_EQ(response.data(0).fields().at("a").number_value(), 1);
  request.set_request_uuid("two");
  request.set_num_peers(0);
  EXPECT_EQ(Call(&Service::Stub::AllocationAllGather, request, &response, token_).error_code(),
            StatusCode::INVALID_ARGUMENT);
}

TEST_F(AllocationCallsTest, ReturnsAcceleratorsOfTask) {
  FakeAgent agent(master_, "a1", 1);
  int experiment = 0;
  const std::string allocation = Run(agent, &experiment);
  api::GetTaskAcceleratorDataRequest request;
  request.set_task_id(GetTrial(Get(experiment).trial_ids(0)).task_id());
  api::GetTaskAcceleratorDataResponse response;
  ASSERT_TRUE(Call(&Service::Stub::GetTaskAcceleratorData, request, &response).ok());
  ASSERT_EQ(response.accelerator_data_size(), 1);
  EXPECT_EQ(response.accelerator_data(0).node_name(), "a1");
  EXPECT_EQ(response.accelerator_data(0).allocation_id(), allocation);
  EXPECT_EQ(response.accelerator_data(0).accelerator_uuids_size(), 1);
}

TEST_F(AllocationCallsTest, TellsUserWhetherAllocationIsPreempted) {
  FakeAgent agent(master_, "a1", 1);
  int experiment = 0;
  const std::string allocation = Run(agent, &experiment);
  api::AllocationPreemptionSignalRequest request;
  request.set_allocation_id(allocation);
  api::AllocationPreemptionSignalResponse response;
  const auto ask = [&] {
    return Call(&Service::Stub::AllocationPreemptionSignal, request, &response);
  };
  ASSERT_TRUE(ask().ok());
  EXPECT_FALSE(response.preempt());
  api::PauseExperimentRequest pause;
  pause.set_id(experiment);
  api::PauseExperimentResponse paused;
  using Experiments = api::ExperimentService;
  ASSERT_TRUE(Call(&Experiments::Stub::PauseExperiment, pause, &paused).ok());
  ASSERT_TRUE(ask().ok());
  EXPECT_TRUE(response.preempt());
}

}  // namespace
}  // namespace det::tests
