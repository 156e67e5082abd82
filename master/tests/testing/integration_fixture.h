// A fixture with a TestMaster and shorthands for common calls. Called by tests on their thread;
// blocks until the master responds.
#ifndef MASTER_TESTS_TESTING_INTEGRATION_FIXTURE_H_
#define MASTER_TESTS_TESTING_INTEGRATION_FIXTURE_H_

#include <memory>
#include <string>

#include "det/api/v1/experiment.grpc.pb.h"
#include "det/api/v1/trial.grpc.pb.h"
#include "det/trial/v1/trial.grpc.pb.h"
#include "gtest/gtest.h"
#include "master/tests/testing/fake_agent.h"
#include "master/tests/testing/test_master.h"
#include <grpcpp/grpcpp.h>

namespace det::tests {

namespace api = det::api::v1;
namespace trial = det::trial::v1;

inline constexpr char kConfig[] = R"(
name: experiment
entrypoint: "true"
searcher: {name: single, metric: loss, smaller_is_better: true, max_length: {batches: 10}}
max_restarts: 0
)";

class MasterIntegrationTest : public testing::Test {
 protected:
  // Calls any unary method: Call(&api::UserService::Stub::GetMe, request, &response).
  template <class Stub, class Req, class Res>
  grpc::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Req&, Res*),
                    const Req& request, Res* response, const std::string& token = "user") {
    CallContext context(token);
    Stub stub(master_.channel());
    return (stub.*method)(&context, request, response);
  }
  static api::CreateExperimentRequest Request(const std::string& config = kConfig) {
    api::CreateExperimentRequest request;
    request.set_config(config);
    request.set_activate(true);
    return request;
  }
  grpc::Status Create(const api::CreateExperimentRequest& request,
                      api::CreateExperimentResponse* response) {
    CallContext context("user");
    return experiments_->CreateExperiment(&context, request, response);
  }
  int Create(const std::string& config = kConfig) {
    api::CreateExperimentResponse response;
    const grpc::Status status = Create(Request(config), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.experiment().id();
  }
  // Creates an experiment and starts its task on `agent`; returns the allocation ID.
  std::string Run(FakeAgent& agent, int* experiment = nullptr,
                  const std::string& config = kConfig) {
    EXPECT_TRUE(agent.Next().has_registered());
    const int id = Create(config);
    if (experiment != nullptr) *experiment = id;
    const wire::MasterMessage start = agent.Next();
    const std::string allocation = start.start().task().allocation_id();
    token_ = start.start().task().session_token();
    owner_token_ = start.start().task().user_token();
    agent.Started(allocation);
    agent.AwaitAck();
    return allocation;
  }
  api::Experiment Get(int id) {
    CallContext context("user");
    api::GetExperimentRequest request;
    request.set_experiment_id(id);
    api::GetExperimentResponse response;
    const grpc::Status status = experiments_->GetExperiment(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.experiment();
  }
  api::Trial GetTrial(int id) {
    CallContext context("user");
    api::GetTrialRequest request;
    request.set_trial_id(id);
    api::GetTrialResponse response;
    const grpc::Status status = trials_->GetTrial(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.trial();
  }
  // Watches the experiment until it ends.
  api::Experiment Await(int id) {
    CallContext context("user");
    api::WatchExperimentRequest request;
    request.set_experiment_id(id);
    const auto stream = experiments_->WatchExperiment(&context, request);
    api::WatchExperimentResponse response;
    while (stream->Read(&response)) {
    }
    EXPECT_TRUE(stream->Finish().ok());
    return response.experiment();
  }
  grpc::Status Kill(int id) {
    CallContext context("user");
    api::KillExperimentRequest request;
    request.set_id(id);
    api::KillExperimentResponse response;
    return experiments_->KillExperiment(&context, request, &response);
  }

  TestMaster master_{store::MakeFakeDatabase()};
  std::unique_ptr<api::ExperimentService::Stub> experiments_ =
      api::ExperimentService::NewStub(master_.channel());
  std::unique_ptr<api::TrialService::Stub> trials_ = api::TrialService::NewStub(master_.channel());
  std::unique_ptr<trial::TrialRuntime::Stub> runtime_ =
      trial::TrialRuntime::NewStub(master_.channel());
  std::string token_;        // of the task
  std::string owner_token_;  // with which the task acts as the owner
};

}  // namespace det::tests

#endif  // MASTER_TESTS_TESTING_INTEGRATION_FIXTURE_H_
