// The life of an experiment in a whole master without a database and a port: services, engine,
// cluster and agent hub on a store in memory, with a fake agent and trial.
#include <string>

#include "det/api/v1/task.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/tests/testing/integration_fixture.h"

namespace det::tests {
namespace {

using ::testing::ElementsAre;

TEST_F(MasterIntegrationTest, CompletesAnExperimentWithLogs) {
  FakeAgent agent(master_, "a1", 2);
  int id = 0;
  const std::string allocation = Run(agent, &id);
  EXPECT_EQ(Get(id).state(), api::Experiment::STATE_RUNNING);
  EXPECT_EQ(Get(id).num_trials(), 1);
  ASSERT_EQ(Get(id).trial_ids_size(), 1);
  const int trial_id = Get(id).trial_ids(0);

  CallContext context("user");
  api::TrialLogsRequest request;
  request.set_trial_id(trial_id);
  request.set_follow(true);
  const auto logs = trials_->TrialLogs(&context, request);
  agent.Log(allocation, 1, "hello");
  agent.Log(allocation, 1, "hello");  // sent again, as after a lost response
  api::TrialLogsResponse line;
  while (logs->Read(&line) && line.log() != "hello") {
  }
  EXPECT_EQ(line.message(), "[1970-01-01T00:00:00.000000Z] 1.1.1    [rank=0] || hello\n");
  agent.Log(allocation, 2, "bye");
  agent.Exited(allocation, 0);
  int byes = 0;
  while (logs->Read(&line)) byes += line.log() == "bye" || line.log() == "hello";
  EXPECT_EQ(byes, 1);
  EXPECT_TRUE(logs->Finish().ok());

  EXPECT_EQ(Await(id).state(), api::Experiment::STATE_COMPLETED);
  const api::Trial trial = GetTrial(trial_id);
  EXPECT_EQ(trial.state(), api::Trial::STATE_COMPLETED);
  ASSERT_EQ(trial.runs_size(), 1);
  EXPECT_EQ(trial.runs(0).agent_ids(0), "a1");
  EXPECT_EQ(trial.runs(0).exit_code(), 0);
}

TEST_F(MasterIntegrationTest, QueuedExperimentReportsItsWaitReason) {
  const int id = Create();
  const api::Experiment experiment = Get(id);
  EXPECT_EQ(experiment.state(), api::Experiment::STATE_QUEUED);
  EXPECT_NE(experiment.state_reason(), "");
}

TEST_F(MasterIntegrationTest, RejectsInvalidInputWithoutStoringAnything) {
  api::CreateExperimentResponse response;
  grpc::Status status = Create(Request("name: [\n"), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  auto request = Request(
      "entrypoint: net.cc:Net\nsearcher: {name: single, metric: loss, "
      "max_length: {batches: 1}}\n");
  request.set_config_path("const.yaml");
  status = Create(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(),
            "const.yaml:1: entrypoint: net.cc is not in the context directory");
  auto* file = request.add_model_definition();
  file->set_path("net.cc");
  file->set_type(48);
  request.set_validate_only(true);
  status = Create(request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(master_.store().ListExperiments({})->total, 0);
}

TEST_F(MasterIntegrationTest, RejectsAGridWithTooManyPoints_WhenOnlyValidating) {
  auto request = Request(
      "entrypoint: run\nsearcher: {name: grid, metric: loss, max_length: {batches: 1}}\n"
      "hyperparameters: {a: {type: double, minval: 0, maxval: 1, count: 1000001}}\n");
  for (const bool validate_only : {true, false}) {
    request.set_validate_only(validate_only);
    api::CreateExperimentResponse response;
    const grpc::Status status = Create(request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.error_message(),
              "hyperparameters.a: more than 1000000 points; lower the counts, or use the random "
              "searcher");
  }
}

TEST_F(MasterIntegrationTest, WarnsAboutAPoolThatDoesNotExistYet) {
  FakeAgent agent(master_, "a1", 1);
  auto request = Request(std::string(kConfig) + "resources:\n  resource_pool: gpus\n");
  request.set_config_path("const.yaml");
  request.set_validate_only(true);
  api::CreateExperimentResponse response;
  ASSERT_TRUE(Create(request, &response).ok());
  EXPECT_THAT(response.config_warnings(),
              ElementsAre("const.yaml:7: resource pool gpus does not exist yet; existing pools: "
                          "default. Trials wait until an agent of the pool connects"));
  *request.mutable_config() = std::string(kConfig) + "resources:\n  resource_pool: default\n";
  ASSERT_TRUE(Create(request, &response).ok());
  EXPECT_THAT(response.config_warnings(), ElementsAre());
}

TEST_F(MasterIntegrationTest, RejectsCheckpointFoldersOfTheSystem) {
  auto request = Request(std::string(kConfig) + "checkpoint_storage:\n  host_path: /etc/cron.d\n");
  request.set_config_path("const.yaml");
  api::CreateExperimentResponse response;
  const grpc::Status status = Create(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(),
            "const.yaml:7: checkpoint_storage.host_path: \"/etc/cron.d\" belongs to the operating "
            "system; choose a folder of your own, or leave it out for /nowhere");
  EXPECT_EQ(master_.store().ListExperiments({})->total, 0);
}

TEST_F(MasterIntegrationTest, RejectsATooLongRequestId) {
  auto request = Request();
  request.set_request_id(std::string(27'000, 'r'));
  api::CreateExperimentResponse response;
  EXPECT_EQ(Create(request, &response).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(master_.store().ListExperiments({})->total, 0);
}

TEST_F(MasterIntegrationTest, CreatesOneExperimentPerRequestId) {
  auto request = Request();
  request.set_request_id("r1");
  api::CreateExperimentResponse first, second;
  ASSERT_TRUE(Create(request, &first).ok());
  ASSERT_TRUE(Create(request, &second).ok());
  EXPECT_EQ(first.experiment().id(), second.experiment().id());
  ASSERT_TRUE(Kill(first.experiment().id()).ok());
  EXPECT_EQ(Await(first.experiment().id()).state(), api::Experiment::STATE_CANCELED);
  ASSERT_TRUE(Create(request, &second).ok());
  EXPECT_EQ(first.experiment().id(), second.experiment().id());
}

TEST_F(MasterIntegrationTest, KillStopsTheTaskAndIsIdempotent) {
  FakeAgent agent(master_, "a1", 1);
  int id = 0;
  const std::string allocation = Run(agent, &id);
  ASSERT_TRUE(Kill(id).ok());
  const wire::MasterMessage stop = agent.Next();
  EXPECT_EQ(stop.stop().allocation_id(), allocation);
  EXPECT_TRUE(Kill(id).ok());
  agent.Exited(allocation, 137, 9);
  EXPECT_EQ(Await(id).state(), api::Experiment::STATE_CANCELED);
  EXPECT_TRUE(Kill(id).ok());
  CallContext context("user");
  api::PauseExperimentRequest pause;
  pause.set_id(id);
  api::PauseExperimentResponse response;
  const grpc::Status status = experiments_->PauseExperiment(&context, pause, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_NE(status.error_message().find("is CANCELED; only ACTIVE"), std::string::npos)
      << status.error_message();
  EXPECT_EQ(Kill(999).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(MasterIntegrationTest, FailedExperimentReportsTheReason) {
  FakeAgent agent(master_, "a1", 1);
  int id = 0;
  const std::string allocation = Run(agent, &id);
  agent.Exited(allocation, 3);
  const api::Experiment experiment = Await(id);
  EXPECT_EQ(experiment.state(), api::Experiment::STATE_ERROR);
  EXPECT_NE(experiment.state_reason(), "");
  EXPECT_EQ(GetTrial(experiment.trial_ids(0)).runs(0).exit_code(), 3);
}

TEST_F(MasterIntegrationTest, GivesContinuedTrialANewTask) {
  FakeAgent agent(master_, "a1", 1);
  int id = 0;
  const std::string allocation = Run(agent, &id);
  EXPECT_TRUE(allocation.ends_with(".1")) << allocation;
  agent.Log(allocation, 1, "before");
  agent.Exited(allocation, 0);
  const auto to_micros = [](const google::protobuf::Timestamp& time) {
    return time.seconds() * 1'000'000 + time.nanos() / 1'000;
  };
  const int64_t ended = to_micros(Await(id).end_time());
  const int trial = Get(id).trial_ids(0);
  const std::string task = GetTrial(trial).task_id();
  CallContext context("user");
  api::ContinueExperimentRequest request;
  request.set_id(id);
  api::ContinueExperimentResponse response;
  ASSERT_TRUE(experiments_->ContinueExperiment(&context, request, &response).ok());

  const std::string next = agent.Next().start().task().allocation_id();
  EXPECT_THAT(GetTrial(trial).task_ids(), ElementsAre(task, task + "-1"));
  EXPECT_EQ(GetTrial(trial).task_id(), task);
  const auto read = [&](const std::string& name) {
    api::GetTaskRequest get;
    get.set_task_id(name);
    api::GetTaskResponse got;
    const grpc::Status status = Call(&api::TaskService::Stub::GetTask, get, &got);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(got.task().task_id(), name);
    EXPECT_EQ(got.task().allocations_size(), 1);
    EXPECT_EQ(got.task().allocations(0).task_id(), name);
    return got.task();
  };
  const api::Task first = read(task);
  EXPECT_EQ(first.allocations(0).allocation_id(), allocation);
  EXPECT_TRUE(first.has_end_time());
  api::Task second = read(task + "-1");
  EXPECT_EQ(second.allocations(0).allocation_id(), next);
  EXPECT_FALSE(second.has_end_time());
  EXPECT_GE(to_micros(second.start_time()), ended);

  agent.Started(next);
  agent.Exited(next, 0);
  Await(id);
  EXPECT_TRUE(read(task + "-1").has_end_time());
  const auto logs_before = [&](const std::string& name) {
    CallContext reader("user");
    api::TaskLogsRequest ask;
    ask.set_task_id(name);
    api::TaskService::Stub tasks(master_.channel());
    const auto stream = tasks.TaskLogs(&reader, ask);
    api::TaskLogsResponse line;
    bool found = false;
    while (stream->Read(&line)) found |= line.log() == "before";
    return found;
  };
  EXPECT_TRUE(logs_before(task));
  EXPECT_FALSE(logs_before(task + "-1"));
  api::GetTaskRequest get;
  get.set_task_id(task + "-2");
  api::GetTaskResponse none;
  EXPECT_EQ(Call(&api::TaskService::Stub::GetTask, get, &none).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace det::tests
