// A World with what people do to it, as short calls.
//
// Used by tests, on their thread; waits for the master.
#ifndef MASTER_TESTS_TESTING_CLUSTER_CLIENT_H_
#define MASTER_TESTS_TESTING_CLUSTER_CLIENT_H_

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
name: road
entrypoint: "true"
searcher: {name: single, metric: loss, smaller_is_better: true, max_length: {batches: 10}}
max_restarts: 0
)";

class RoadTest : public testing::Test {
 protected:
  static api::CreateExperimentRequest Request(const std::string& config = kConfig) {
    api::CreateExperimentRequest request;
    request.set_config(config);
    request.set_activate(true);
    return request;
  }
  grpc::Status Create(const api::CreateExperimentRequest& request,
                      api::CreateExperimentResponse* response) {
    As context("user");
    return experiments_->CreateExperiment(&context, request, response);
  }
  int Create() {
    api::CreateExperimentResponse response;
    const grpc::Status status = Create(Request(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.experiment().id();
  }
  // An experiment on slots of `agent`, its task started; returns the allocation.
  std::string Run(PlayedAgent& agent, int* experiment = nullptr) {
    EXPECT_TRUE(agent.Next().has_registered());
    const int id = Create();
    if (experiment != nullptr) *experiment = id;
    const wire::MasterMessage start = agent.Next();
    const std::string allocation = start.start().task().allocation_id();
    token_ = start.start().task().session_token();
    agent.Started(allocation);
    agent.AwaitAck();
    return allocation;
  }
  api::Experiment Get(int id) {
    As context("user");
    api::GetExperimentRequest request;
    request.set_experiment_id(id);
    api::GetExperimentResponse response;
    const grpc::Status status = experiments_->GetExperiment(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.experiment();
  }
  api::Trial GetTrial(int id) {
    As context("user");
    api::GetTrialRequest request;
    request.set_trial_id(id);
    api::GetTrialResponse response;
    const grpc::Status status = trials_->GetTrial(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.trial();
  }
  // Waits for the end by the stream that people use.
  api::Experiment Await(int id) {
    As context("user");
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
    As context("user");
    api::KillExperimentRequest request;
    request.set_id(id);
    api::KillExperimentResponse response;
    return experiments_->KillExperiment(&context, request, &response);
  }

  World world_{store::MakeFakeDatabase()};
  std::unique_ptr<api::ExperimentService::Stub> experiments_ =
      api::ExperimentService::NewStub(world_.channel());
  std::unique_ptr<api::TrialService::Stub> trials_ = api::TrialService::NewStub(world_.channel());
  std::unique_ptr<trial::TrialRuntime::Stub> runtime_ =
      trial::TrialRuntime::NewStub(world_.channel());
  std::string token_;
};

}  // namespace det::tests

#endif  // MASTER_TESTS_TESTING_CLUSTER_CLIENT_H_
