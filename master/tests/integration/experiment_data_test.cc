// Reads of an experiment's data: context files, log fields, streamed metrics, and the metrics of
// trials that started from its checkpoint.
#include <string>
#include <vector>

#include "det/api/v1/command.grpc.pb.h"
#include "det/api/v1/log_fields.grpc.pb.h"
#include "det/api/v1/model.grpc.pb.h"
#include "det/api/v1/model_def.grpc.pb.h"
#include "det/api/v1/run.grpc.pb.h"
#include "det/api/v1/template.grpc.pb.h"
#include "det/api/v1/trial_source.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/store/testing/make_rows.h"
#include "master/tests/testing/integration_fixture.h"

namespace det::tests {
namespace {

using grpc::StatusCode;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kCheckpoint[] = "0b2f6c1e-7a54-4d0b-9c3e-5f2a1d8e7b60";
constexpr int kReports = 1200;  // more than two batches

class ExperimentDataTest : public MasterIntegrationTest {
 protected:
  void Report(int trial, const std::string& group, int reports) {
    std::vector<model::MetricReport> all;
    for (int i = 1; i <= reports; ++i) all.push_back(store::MakeReport(trial, group, i, i / 8.0));
    ASSERT_TRUE(master_.store().AddMetrics(all).ok());
  }
  std::vector<int> Steps(const api::GetTrialWorkloadsRequest& request) {
    CallContext context("user");
    api::GetTrialWorkloadsResponse response;
    EXPECT_TRUE(trials_->GetTrialWorkloads(&context, request, &response).ok());
    total_ = response.pagination().total();
    std::vector<int> steps;
    for (const auto& each : response.workloads()) {
      steps.push_back(each.has_training() ? each.training().total_batches()
                                          : -each.validation().total_batches());
    }
    return steps;
  }
  int total_ = 0;
};

TEST_F(ExperimentDataTest, ListsAndReadsContextFiles) {
  api::CreateExperimentRequest create = Request();
  for (const char* path : {"src/model.py", "a.txt"}) {
    auto* file = create.add_model_definition();
    file->set_path(path);
    file->set_content("code");
  }
  api::CreateExperimentResponse created;
  ASSERT_TRUE(Create(create, &created).ok());
  api::GetModelDefTreeRequest ask;
  ask.set_experiment_id(created.experiment().id());
  api::GetModelDefTreeResponse tree;
  using Service = api::ModelDefService;
  ASSERT_TRUE(Call(&Service::Stub::GetModelDefTree, ask, &tree).ok());
  ASSERT_EQ(tree.files_size(), 2);
  EXPECT_EQ(tree.files(0).path(), "a.txt");
  EXPECT_EQ(tree.files(0).content_length(), 4);
  EXPECT_EQ(tree.files(0).content_type(), "text/plain; charset=utf-8");
  EXPECT_TRUE(tree.files(1).is_dir());
  ASSERT_EQ(tree.files(1).files_size(), 1);
  EXPECT_EQ(tree.files(1).files(0).path(), "src/model.py");
  EXPECT_EQ(tree.files(1).files(0).name(), "model.py");
  EXPECT_GT(tree.files(1).modified_time().seconds(), 0);

  api::GetModelDefFileRequest want;
  want.set_experiment_id(created.experiment().id());
  want.set_path("src/model.py");
  api::GetModelDefFileResponse file;
  ASSERT_TRUE(Call(&Service::Stub::GetModelDefFile, want, &file).ok());
  EXPECT_EQ(file.file(), "code");
  want.set_path("../x");
  EXPECT_EQ(Call(&Service::Stub::GetModelDefFile, want, &file).error_code(),
            StatusCode::INVALID_ARGUMENT);
  want.set_path("none.py");
  EXPECT_EQ(Call(&Service::Stub::GetModelDefFile, want, &file).error_code(), StatusCode::NOT_FOUND);
}

TEST_F(ExperimentDataTest, StreamsMetricsInBatches) {
  const int trial = Get(Create()).trial_ids(0);
  Report(trial, "training", kReports);
  Report(trial, "validation", 3);
  {
    CallContext context("user");
    api::GetMetricsRequest request;
    request.add_trial_ids(trial);
    const auto stream = trials_->GetMetrics(&context, request);
    std::vector<int> sizes;
    api::GetMetricsResponse response;
    int last = 0;
    while (stream->Read(&response)) {
      sizes.push_back(response.metrics_size());
      last = response.metrics(response.metrics_size() - 1).total_batches();
    }
    EXPECT_TRUE(stream->Finish().ok());
    EXPECT_THAT(sizes, ElementsAre(500, 500, 203));
    EXPECT_EQ(last, 3) << "the last report of the last group";
  }
  CallContext context("user");
  api::MetricBatchesRequest request;
  request.set_experiment_id(1);
  request.set_metric_name(
      store::MakeReport(1, "training", 1, 1).metrics.AsObject()->begin()->first);
  request.set_group("training");
  const auto runs = api::RunService::NewStub(master_.channel());
  const auto stream = runs->MetricBatches(&context, request);
  api::MetricBatchesResponse batches;
  ASSERT_TRUE(stream->Read(&batches));
  ASSERT_EQ(batches.batches_size(), kReports);
  EXPECT_EQ(batches.batches(kReports - 1), kReports);
}

TEST_F(ExperimentDataTest, ReturnsCurvesAsPointsOrColumns) {
  const int trial = Get(Create()).trial_ids(0);
  Report(trial, "validation", 3);
  model::MetricReport nothing = store::MakeReport(trial, "validation", 4, 1);
  const std::string metric = nothing.metrics.AsObject()->begin()->first;
  nothing.metrics = model::Value::Object{{metric, "NaN"}};
  ASSERT_TRUE(master_.store().AddMetrics({nothing}).ok());
  const auto runs = api::RunService::NewStub(master_.channel());
  api::TrialsSampleRequest request;
  request.set_experiment_id(1);
  request.set_metric_name(metric);
  request.set_group("validation");
  for (const bool as_columns : {false, true}) {
    request.set_as_columns(as_columns);
    CallContext context("user");
    const auto stream = runs->TrialsSample(&context, request);
    api::TrialsSampleResponse sample;
    ASSERT_TRUE(stream->Read(&sample));
    ASSERT_EQ(sample.trials_size(), 1);
    EXPECT_EQ(sample.trials(0).data_size(), as_columns ? 0 : 4);
    EXPECT_EQ(sample.trials(0).has_columns(), as_columns);
    if (!as_columns) continue;
    const api::CurveColumns& columns = sample.trials(0).columns();
    EXPECT_THAT(columns.batches(), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(columns.values(), ElementsAre(0.125, 0.25, 0.375, testing::IsNan()));
  }
}

TEST_F(ExperimentDataTest, ListsAWindowOfWorkloadsInEitherOrder) {
  const int trial = Get(Create()).trial_ids(0);
  Report(trial, "training", kReports);
  Report(trial, "validation", 2);
  api::GetTrialWorkloadsRequest request;
  request.set_trial_id(trial);
  request.set_limit(4);
  EXPECT_THAT(Steps(request), ElementsAre(1, -1, 2, -2));
  EXPECT_EQ(total_, kReports + 2);
  request.set_offset(kReports);
  EXPECT_THAT(Steps(request), ElementsAre(kReports - 1, kReports));
  request.set_order_by(api::ORDER_BY_DESC);
  EXPECT_THAT(Steps(request), ElementsAre(-1, 1)) << "after -2 and 2";
  request.set_offset(0);
  EXPECT_THAT(Steps(request), ElementsAre(kReports, kReports - 1, kReports - 2, kReports - 3));
}

TEST_F(ExperimentDataTest, SortsWorkloadsByAMetric) {
  const int trial = Get(Create()).trial_ids(0);
  int64_t steps = 0;
  for (const double value : {0.3, 0.1, 0.2}) {
    ASSERT_TRUE(
        master_.store().AddMetrics({store::MakeReport(trial, "validation", ++steps, value)}).ok());
  }
  model::MetricReport without = store::MakeReport(trial, "validation", ++steps, 1);
  without.metrics = model::Value::Object{{"other", 1}, {"accuracy", "NaN"}};
  ASSERT_TRUE(master_.store().AddMetrics({without}).ok());
  Report(trial, "training", 1);  // its accuracy is 0.125
  api::GetTrialWorkloadsRequest request;
  request.set_trial_id(trial);
  request.set_sort_key("accuracy");
  EXPECT_THAT(Steps(request), ElementsAre(-2, 1, -3, -1, -4));
  EXPECT_EQ(total_, 5);
  request.set_order_by(api::ORDER_BY_DESC);
  EXPECT_THAT(Steps(request), ElementsAre(-1, -3, 1, -2, -4));
  request.set_offset(1);
  request.set_limit(2);
  EXPECT_THAT(Steps(request), ElementsAre(-3, 1));
  EXPECT_EQ(total_, 5);
  request.set_sort_key("batches");
  EXPECT_THAT(Steps(request), ElementsAre(-3, -2));
}

TEST_F(ExperimentDataTest, FiltersWorkloadsByKindAndIgnoresGroup) {
  const int trial = Get(Create()).trial_ids(0);
  Report(trial, "training", 2);
  Report(trial, "validation", 2);
  api::GetTrialWorkloadsRequest request;
  request.set_trial_id(trial);
  for (const char* group : {"validation", "training", "mine"}) {
    request.set_group(group);
    EXPECT_THAT(Steps(request), ElementsAre(1, -1, 2, -2)) << group;
  }
  request.set_filter(api::GetTrialWorkloadsRequest::FILTER_OPTION_VALIDATION);
  EXPECT_THAT(Steps(request), ElementsAre(-1, -2));
}

TEST_F(ExperimentDataTest, ListsTheFilterValuesOfALog) {
  const int trial = Get(Create()).trial_ids(0);
  const std::string task = GetTrial(trial).task_id();
  std::vector<model::LogLine> lines(3);
  for (size_t i = 0; i < lines.size(); ++i) {
    lines[i].task = model::TaskId(task);
    lines[i].allocation = model::AllocationId(task + ".0");
    lines[i].agent = i == 0 ? "" : "a1";
    lines[i].sequence = static_cast<int64_t>(i);
    lines[i].source = i == 0 ? "master" : "task";
    lines[i].stdtype = i == 2 ? "stderr" : "stdout";
    if (i > 0) lines[i].rank = static_cast<int>(i);
    lines[i].text = "x";
  }
  ASSERT_TRUE(master_.store().AddLogLines(lines).ok());
  const auto stub = api::LogFieldsService::NewStub(master_.channel());
  CallContext context("user");
  api::TaskLogsFieldsRequest request;
  request.set_task_id(task);
  const auto stream = stub->TaskLogsFields(&context, request);
  api::TaskLogsFieldsResponse fields;
  ASSERT_TRUE(stream->Read(&fields));
  EXPECT_THAT(fields.allocation_ids(), ElementsAre(task + ".0"));
  EXPECT_THAT(fields.agent_ids(), ElementsAre("a1"));
  const auto count = [&](const std::vector<std::string>& containers,
                         const std::vector<std::string>& allocations) {
    CallContext context("user");
    api::TrialLogsRequest logs;
    logs.set_trial_id(trial);
    logs.mutable_container_ids()->Add(containers.begin(), containers.end());
    logs.mutable_allocation_ids()->Add(allocations.begin(), allocations.end());
    const auto stream = trials_->TrialLogs(&context, logs);
    api::TrialLogsResponse line;
    int lines = 0;
    while (stream->Read(&line)) ++lines;
    EXPECT_TRUE(stream->Finish().ok());
    return lines;
  };
  EXPECT_EQ(count({}, {}), 3);
  EXPECT_EQ(count({task + ".0"}, {}), 3);
  EXPECT_EQ(count({task + ".1"}, {}), 0);
  EXPECT_EQ(count({task + ".1"}, {task + ".0"}), 0) << "both filters apply";
  EXPECT_THAT(fields.sources(), ElementsAre("master", "task"));
  EXPECT_THAT(fields.stdtypes(), ElementsAre("stdout", "stderr"));
  EXPECT_THAT(fields.rank_ids(), ElementsAre(1, 2));
  EXPECT_FALSE(stream->Read(&fields));
  EXPECT_TRUE(stream->Finish().ok());

  CallContext again("user");
  api::TrialLogsFieldsRequest missing;
  missing.set_trial_id(99);
  EXPECT_EQ(stub->TrialLogsFields(&again, missing)->Finish().error_code(), StatusCode::NOT_FOUND);
}

TEST_F(ExperimentDataTest, ListsMetricsOfTrialsThatStartedFromACheckpoint) {
  const int parent = Get(Create()).trial_ids(0);
  model::CheckpointRecord saved = store::MakeCheckpoint(kCheckpoint, parent, 1);
  experiment::Trial child = store::MakeTrial(50, 1);
  child.warm_start = model::CheckpointId(kCheckpoint);
  ASSERT_TRUE(master_.store()
                  .Commit(1000000, {cluster::AddCheckpoint{saved}, cluster::PutTrial{child}})
                  .ok());
  Report(50, "validation", 2);
  Report(50, "training", 1);
  using Service = api::TrialSourceService;
  api::GetTrialMetricsByCheckpointRequest request;
  request.set_checkpoint_uuid(kCheckpoint);
  request.set_metric_group("validation");
  api::GetTrialMetricsByCheckpointResponse response;
  const grpc::Status status = Call(&Service::Stub::GetTrialMetricsByCheckpoint, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response.metrics_size(), 2);
  EXPECT_EQ(response.metrics(1).trial_id(), 50);
  EXPECT_EQ(response.metrics(1).group(), "validation");
  request.set_trial_source_info_type(api::TRIAL_SOURCE_INFO_TYPE_INFERENCE);
  ASSERT_TRUE(Call(&Service::Stub::GetTrialMetricsByCheckpoint, request, &response).ok());
  EXPECT_THAT(response.metrics(), IsEmpty());

  api::PostModelRequest model;
  model.set_name("bert");
  model.set_workspace_id(1);
  api::PostModelResponse made;
  ASSERT_TRUE(Call(&api::ModelService::Stub::PostModel, model, &made).ok());
  api::PostModelVersionRequest version;
  version.set_model_name("bert");
  version.set_checkpoint_uuid(kCheckpoint);
  api::PostModelVersionResponse held;
  ASSERT_TRUE(Call(&api::ModelService::Stub::PostModelVersion, version, &held).ok());
  api::GetTrialMetricsByModelVersionRequest of_version;
  of_version.set_model_name("bert");
  of_version.set_model_version_num(1);
  api::GetTrialMetricsByModelVersionResponse by_version;
  ASSERT_TRUE(Call(&Service::Stub::GetTrialMetricsByModelVersion, of_version, &by_version).ok());
  EXPECT_EQ(by_version.metrics_size(), 3);
}

TEST_F(ExperimentDataTest, DryRunDoesNotStoreATemplate) {
  using Service = api::TemplateService;
  api::PutTemplateRequest put;
  put.mutable_template_()->set_name("small");
  put.mutable_template_()->set_yaml("resources: {slots_per_trial: 2}");
  put.set_validate_only(true);
  api::PutTemplateResponse tried;
  ASSERT_TRUE(Call(&Service::Stub::PutTemplate, put, &tried).ok());
  EXPECT_EQ(tried.template_().name(), "small");
  EXPECT_TRUE(tried.template_().config().fields().contains("resources"));
  api::GetTemplateRequest get;
  get.set_template_name("small");
  api::GetTemplateResponse got;
  EXPECT_EQ(Call(&Service::Stub::GetTemplate, get, &got).error_code(), StatusCode::NOT_FOUND);
  put.mutable_template_()->set_yaml("resources: [");
  EXPECT_EQ(Call(&Service::Stub::PutTemplate, put, &tried).error_code(),
            StatusCode::INVALID_ARGUMENT);
}

TEST_F(ExperimentDataTest, ListsNoTasksOtherThanTrials) {
  Create();
  using Service = api::CommandService;
  api::GetActiveTasksCountResponse count;
  ASSERT_TRUE(
      Call(&Service::Stub::GetActiveTasksCount, api::GetActiveTasksCountRequest(), &count).ok());
  EXPECT_EQ(count.commands() + count.notebooks() + count.shells() + count.tensorboards(), 0);
}

}  // namespace
}  // namespace det::tests
