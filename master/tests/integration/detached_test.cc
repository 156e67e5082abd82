// Detached mode in a whole master: programs that run elsewhere and report with a user's token.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "det/api/v1/detached.grpc.pb.h"
#include "det/api/v1/experiment.grpc.pb.h"
#include "det/api/v1/job.grpc.pb.h"
#include "det/api/v1/search.grpc.pb.h"
#include "det/api/v1/task_runtime.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/tests/testing/integration_fixture.h"

namespace det::tests {
namespace {

using ::testing::HasSubstr;
using enum grpc::StatusCode;
using Detached = api::DetachedService::Stub;
using Runtime = api::TaskRuntimeService::Stub;

constexpr char kUnmanaged[] = R"(
name: outside
description: null
labels: null
workspace: null
project: null
searcher: {name: single, metric: loss}
checkpoint_storage: {type: directory, container_path: checkpoints}
)";
constexpr char kUuid[] = "b5dfe389-2871-4305-aa90-0dbad284ba65";

class DetachedTest : public MasterIntegrationTest {
 protected:
  static api::CreateExperimentRequest UnmanagedRequest() {
    api::CreateExperimentRequest request;
    request.set_config(kUnmanaged);
    request.set_unmanaged(true);
    return request;
  }
  int CreateUnmanaged() {
    api::CreateExperimentResponse response;
    const grpc::Status status = Create(UnmanagedRequest(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.experiment().id();
  }
  api::Trial CreateTrial(int experiment) {
    api::CreateTrialRequest request;
    request.set_experiment_id(experiment);
    request.set_unmanaged(true);
    (*request.mutable_hparams()->mutable_fields())["lr"].set_number_value(0.5);
    api::CreateTrialResponse response;
    const grpc::Status status = Call(&Detached::CreateTrial, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.trial();
  }
  api::StartTrialResponse Start(int trial) {
    api::StartTrialRequest request;
    request.set_trial_id(trial);
    request.set_resume(true);
    api::StartTrialResponse response;
    const grpc::Status status = Call(&Detached::StartTrial, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  grpc::Status Patch(int trial, api::Trial::State state, api::Trial* out = nullptr) {
    api::PatchTrialRequest request;
    request.set_trial_id(trial);
    request.set_state(state);
    api::PatchTrialResponse response;
    const grpc::Status status = Call(&Detached::PatchTrial, request, &response);
    if (out != nullptr) *out = response.trial();
    return status;
  }
  grpc::Status Report(int trial, int run, int steps, const std::string& name, double value,
                      const std::string& token = "user") {
    api::ReportTrialValidationMetricsRequest request;
    api::TrialMetrics& metrics = *request.mutable_validation_metrics();
    metrics.set_trial_id(trial);
    metrics.set_trial_run_id(run);
    metrics.set_steps_completed(steps);
    (*metrics.mutable_metrics()->mutable_avg_metrics()->mutable_fields())[name].set_number_value(
        value);
    api::ReportTrialMetricsResponse response;
    return Call(&Runtime::ReportTrialValidationMetrics, request, &response, token);
  }
  grpc::Status ReportCheckpoint(const std::string& task, const std::string& uuid, int steps,
                                int storage,
                                api::Checkpoint::State state = api::Checkpoint::STATE_COMPLETED) {
    api::ReportCheckpointRequest request;
    api::Checkpoint& checkpoint = *request.mutable_checkpoint();
    checkpoint.set_task_id(task);
    checkpoint.set_uuid(uuid);
    checkpoint.set_storage_id(storage);
    checkpoint.set_state(state);
    (*checkpoint.mutable_resources())["model.pt"] = 1000;
    (*checkpoint.mutable_metadata()->mutable_fields())["steps_completed"].set_number_value(steps);
    api::ReportCheckpointResponse response;
    return Call(&Runtime::ReportCheckpoint, request, &response);
  }
  int PrepareStorage(int trial) {
    api::RunPrepareForReportingRequest request;
    request.set_run_id(trial);
    (*request.mutable_checkpoint_storage()->mutable_fields())["type"].set_string_value("directory");
    api::RunPrepareForReportingResponse response;
    EXPECT_TRUE(Call(&Runtime::RunPrepareForReporting, request, &response).ok());
    return response.storage_id();
  }
};

TEST_F(DetachedTest, RejectsCheckpointWithImpossibleNumbers) {
  const api::Trial trial = CreateTrial(CreateUnmanaged());
  Start(trial.id());
  api::ReportCheckpointRequest request;
  api::Checkpoint& checkpoint = *request.mutable_checkpoint();
  checkpoint.set_task_id(trial.task_id());
  checkpoint.set_uuid(kUuid);
  checkpoint.set_state(api::Checkpoint::STATE_COMPLETED);
  auto& steps = (*checkpoint.mutable_metadata()->mutable_fields())["steps_completed"];
  auto& sizes = *checkpoint.mutable_resources();
  const auto report = [&](double number, int64_t first, int64_t second) {
    steps.set_number_value(number);
    sizes["a"] = first;
    sizes["b"] = second;
    api::ReportCheckpointResponse response;
    return Call(&Runtime::ReportCheckpoint, request, &response).error_code();
  };
  constexpr int64_t kMax = int64_t{1} << 53;
  EXPECT_EQ(report(1, -1, 0), INVALID_ARGUMENT);
  EXPECT_EQ(report(1, std::numeric_limits<int64_t>::max(), 1), INVALID_ARGUMENT);
  EXPECT_EQ(report(1, kMax, 1), INVALID_ARGUMENT);
  for (const double number : {-1.0, 2147483648.0, 1e300, std::nan("")}) {
    EXPECT_EQ(report(number, 1, 1), INVALID_ARGUMENT) << number;
  }
  EXPECT_EQ(report(2147483647, kMax, 0), grpc::StatusCode::OK);
}

TEST_F(DetachedTest, StoresNumberedLogLineOnce) {
  const api::Trial trial = CreateTrial(CreateUnmanaged());
  api::PostTaskLogsRequest logs;
  api::TaskLog& line = *logs.add_logs();
  line.set_task_id(trial.task_id());
  line.set_log("hello");
  line.set_sequence(1);
  api::PostTaskLogsResponse logged;
  const auto post = [&](const std::string& allocation) {
    line.set_allocation_id(allocation);
    return Call(&Runtime::PostTaskLogs, logs, &logged).error_code();
  };
  EXPECT_EQ(post(""), INVALID_ARGUMENT);
  EXPECT_EQ(post("7.7.1"), INVALID_ARGUMENT) << "it could hide lines of that allocation";
  for (int i = 0; i < 2; ++i) EXPECT_EQ(post(kUuid), grpc::StatusCode::OK);
  line.set_sequence(2);
  EXPECT_EQ(post(kUuid), grpc::StatusCode::OK);
  EXPECT_EQ(master_.store().ListLogs({.task = model::TaskId(trial.task_id())})->size(), 2u);
}

TEST_F(DetachedTest, RecordsProgramThatRunsElsewhere) {
  const int id = CreateUnmanaged();
  api::Experiment experiment = Get(id);
  EXPECT_TRUE(experiment.unmanaged());
  EXPECT_EQ(experiment.state(), api::Experiment::STATE_PAUSED);
  const api::Trial trial = CreateTrial(id);
  EXPECT_EQ(trial.state(), api::Trial::STATE_PAUSED);
  EXPECT_EQ(Start(trial.id()).trial_run_id(), 1);
  EXPECT_EQ(Get(id).state(), api::Experiment::STATE_RUNNING);

  ASSERT_TRUE(Report(trial.id(), 1, 10, "loss", 0.5).ok());
  const int storage = PrepareStorage(trial.id());
  EXPECT_EQ(PrepareStorage(trial.id()), storage);
  for (const auto state : {api::Checkpoint::STATE_UNSPECIFIED, api::Checkpoint::STATE_ACTIVE}) {
    EXPECT_EQ(ReportCheckpoint(trial.task_id(), kUuid, 10, storage, state).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
  }
  EXPECT_EQ(ReportCheckpoint(trial.task_id(), kUuid, 10, storage + 1).error_code(), NOT_FOUND)
      << "a storage that nobody registered";
  ASSERT_TRUE(ReportCheckpoint(trial.task_id(), kUuid, 10, storage).ok());
  api::PostTaskLogsRequest logs;
  logs.add_logs()->set_task_id(trial.task_id());
  logs.mutable_logs(0)->set_log("hello");
  api::PostTaskLogsResponse logged;
  ASSERT_TRUE(Call(&Runtime::PostTaskLogs, logs, &logged).ok());
  api::ReportTrialProgressRequest progress;
  progress.set_trial_id(trial.id());
  progress.set_progress(0.25);
  api::ReportTrialProgressResponse reported;
  ASSERT_TRUE(Call(&Runtime::ReportTrialProgress, progress, &reported).ok());
  EXPECT_EQ(Get(id).progress().value(), 0.25);
  progress.set_progress(1.5);
  EXPECT_EQ(Call(&Runtime::ReportTrialProgress, progress, &reported).error_code(),
            INVALID_ARGUMENT);

  api::Trial ended;
  ASSERT_TRUE(Patch(trial.id(), api::Trial::STATE_COMPLETED, &ended).ok());
  EXPECT_EQ(ended.state(), api::Trial::STATE_COMPLETED);
  EXPECT_TRUE(ended.has_end_time());
  EXPECT_EQ(ended.checkpoint_count(), 1);
  EXPECT_EQ(ended.best_validation().total_batches(), 10);
  experiment = Get(id);
  EXPECT_EQ(experiment.state(), api::Experiment::STATE_COMPLETED);
  EXPECT_EQ(experiment.best_trial_searcher_metric(), 0.5);
  EXPECT_EQ(master_.store().ListLogs({.task = model::TaskId(trial.task_id())})->size(), 1u);

  const api::StartTrialResponse again = Start(trial.id());
  EXPECT_EQ(again.trial_run_id(), 2);
  EXPECT_EQ(again.latest_checkpoint(), kUuid);
  EXPECT_EQ(again.steps_completed(), 10);
  const grpc::Status stale = Report(trial.id(), 1, 20, "loss", 0.4);
  EXPECT_EQ(stale.error_code(), INVALID_ARGUMENT);
  EXPECT_THAT(stale.error_message(), HasSubstr("invalid run id, 1 (reported) != 2 (expected)"));
}

TEST_F(DetachedTest, FindsExperimentsAndTrialsByExternalId) {
  api::PutExperimentRequest request;
  request.set_external_experiment_id("outside");
  *request.mutable_create_experiment_request() = UnmanagedRequest();
  api::PutExperimentResponse first, second;
  ASSERT_TRUE(Call(&Detached::PutExperiment, request, &first).ok());
  EXPECT_EQ(first.experiment().external_experiment_id(), "outside");
  request.mutable_create_experiment_request()->set_config(
      "{name: renamed, searcher: {name: single, metric: loss}}");
  ASSERT_TRUE(Call(&Detached::PutExperiment, request, &second).ok());
  EXPECT_EQ(second.experiment().id(), first.experiment().id());
  EXPECT_EQ(second.experiment().name(), "renamed");

  api::PutTrialRequest put;
  put.set_external_trial_id("one");
  put.mutable_create_trial_request()->set_experiment_id(first.experiment().id());
  put.mutable_create_trial_request()->set_unmanaged(true);
  api::PutTrialResponse one, same;
  ASSERT_TRUE(Call(&Detached::PutTrial, put, &one).ok());
  ASSERT_TRUE(Call(&Detached::PutTrial, put, &same).ok());
  EXPECT_EQ(same.trial().id(), one.trial().id());

  api::GetTrialByExternalIDRequest get;
  get.set_external_experiment_id("outside");
  get.set_external_trial_id("one");
  api::GetTrialByExternalIDResponse found;
  ASSERT_TRUE(Call(&Detached::GetTrialByExternalID, get, &found).ok());
  EXPECT_EQ(found.trial().id(), one.trial().id());
  get.set_external_trial_id("two");
  EXPECT_EQ(Call(&Detached::GetTrialByExternalID, get, &found).error_code(), NOT_FOUND);
}

TEST_F(DetachedTest, RejectsManagedExperiments) {
  const int managed = Create();
  api::CreateTrialRequest request;
  request.set_experiment_id(managed);
  request.set_unmanaged(true);
  api::CreateTrialResponse created;
  grpc::Status status = Call(&Detached::CreateTrial, request, &created);
  EXPECT_EQ(status.error_code(), FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("can only be created on unmanaged experiments"));
  request.set_unmanaged(false);
  EXPECT_EQ(Call(&Detached::CreateTrial, request, &created).error_code(), INVALID_ARGUMENT);
  request.set_unmanaged(true);
  request.set_experiment_id(99);
  EXPECT_EQ(Call(&Detached::CreateTrial, request, &created).error_code(), NOT_FOUND);
  const int trial = Get(managed).trial_ids(0);
  EXPECT_EQ(Patch(trial, api::Trial::STATE_COMPLETED).error_code(), FAILED_PRECONDITION);
  api::PutExperimentRequest put;
  put.set_external_experiment_id("outside");
  put.mutable_create_experiment_request()->set_config(kConfig);
  api::PutExperimentResponse response;
  EXPECT_EQ(Call(&Detached::PutExperiment, put, &response).error_code(), INVALID_ARGUMENT);
}

TEST_F(DetachedTest, AcceptsMetricsOfManagedTrialFromUser) {
  const int trial = Get(Create()).trial_ids(0);
  ASSERT_TRUE(Report(trial, 0, 10, "loss", 0.5).ok());
  EXPECT_EQ(master_.store().ListMetrics({model::TrialId(trial)}, "validation")->size(), 1u);
}

TEST_F(DetachedTest, DoesNotControlPrograms) {
  const int id = CreateUnmanaged();
  Start(CreateTrial(id).id());
  EXPECT_TRUE(Kill(id).ok());
  EXPECT_EQ(Get(id).state(), api::Experiment::STATE_RUNNING);
  api::PauseExperimentRequest pause;
  pause.set_id(id);
  api::PauseExperimentResponse paused;
  const grpc::Status status = Call(&api::ExperimentService::Stub::PauseExperiment, pause, &paused);
  EXPECT_EQ(status.error_code(), FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("unmanaged"));
  api::ContinueExperimentRequest resume;
  resume.set_id(id);
  api::ContinueExperimentResponse resumed;
  EXPECT_EQ(Call(&api::ExperimentService::Stub::ContinueExperiment, resume, &resumed).error_code(),
            FAILED_PRECONDITION);
  api::DeleteExperimentRequest deletion;
  deletion.set_experiment_id(id);
  api::DeleteExperimentResponse deleted;
  EXPECT_EQ(Call(&api::ExperimentService::Stub::DeleteExperiment, deletion, &deleted).error_code(),
            FAILED_PRECONDITION);
  api::GetJobsRequest queue;
  api::GetJobsResponse jobs;
  ASSERT_TRUE(Call(&api::JobService::Stub::GetJobs, queue, &jobs).ok());
  EXPECT_EQ(jobs.jobs_size(), 0);
}

TEST_F(DetachedTest, DoesNotRemoveTensorboardFilesOfOtherMachines) {
  const int id = CreateUnmanaged();
  api::DeleteTensorboardFilesRequest request;
  request.set_experiment_id(id);
  api::DeleteTensorboardFilesResponse response;
  const grpc::Status status =
      Call(&api::ExperimentService::Stub::DeleteTensorboardFiles, request, &response);
  EXPECT_EQ(status.error_code(), FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("ran outside of the cluster"));
}

TEST_F(DetachedTest, RefusesChangedValueOfReport) {
  const int trial = CreateTrial(CreateUnmanaged()).id();
  Start(trial);
  ASSERT_TRUE(Report(trial, 1, 10, "loss", 0.5).ok());
  EXPECT_TRUE(Report(trial, 1, 10, "loss", 0.5).ok()) << "a repeated report";
  EXPECT_TRUE(Report(trial, 1, 10, "accuracy", 0.25).ok()) << "another metric of the same step";
  const grpc::Status status = Report(trial, 1, 10, "loss", 0.75);
  EXPECT_EQ(status.error_code(), INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("0.5"));
  EXPECT_THAT(status.error_message(), HasSubstr("0.75"));
}

TEST_F(DetachedTest, ReturnsSearchWithoutBrackets) {
  const int experiment = CreateUnmanaged();
  const api::Trial trial = CreateTrial(experiment);
  const int run = Start(trial.id()).trial_run_id();
  ASSERT_TRUE(Report(trial.id(), run, 1, "loss", 0.5).ok());
  api::GetSearchRequest request;
  request.set_experiment_id(experiment);
  api::GetSearchResponse response;
  const grpc::Status status = Call(&api::SearchService::Stub::GetSearch, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.search().name(), "single");
  EXPECT_EQ(response.search().best_trial_id(), trial.id());
  EXPECT_TRUE(response.search().brackets().empty());
}

}  // namespace
}  // namespace det::tests
