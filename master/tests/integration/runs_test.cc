// Search for runs by hyperparameters, metrics and metadata with permissions, and comparison of
// runs.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "det/api/v1/run.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/store/testing/make_rows.h"
#include "master/tests/testing/integration_fixture.h"

namespace det::tests {
namespace {

using testing::HasSubstr;

class RunsTest : public MasterIntegrationTest {
 protected:
  // Runs a trial with two validations and returns the ID of its run.
  int Train(FakeAgent& agent, int* experiment) {
    const std::string allocation = Run(agent, experiment);
    const int id = Get(*experiment).trial_ids(0);
    trial::ReportMetricsRequest request;
    request.set_allocation_id(allocation);
    request.set_trial_id(id);
    for (const int steps : {5, 10}) {
      auto* report = request.add_reports();
      report->set_group("validation");
      report->set_steps_completed(steps);
      (*report->mutable_metrics()->mutable_fields())["loss"].set_number_value(steps / 8.0);
    }
    CallContext context(token_);
    trial::ReportMetricsResponse response;
    EXPECT_TRUE(runtime_->ReportMetrics(&context, request, &response).ok());
    return id;
  }
  grpc::Status Search(const std::string& filter, api::SearchRunsResponse* response,
                      const std::string& token = "user") {
    CallContext context(token);
    api::SearchRunsRequest request;
    request.set_filter(filter);
    return runs_->SearchRuns(&context, request, response);
  }
  static std::string Loss(const std::string& op) {
    return R"({"filterGroup":{"kind":"group","conjunction":"and","children":[{"kind":"field",)"
           R"("columnName":"validation.loss.max","operator":")" +
           op + R"(","value":1}]}})";
  }

  std::unique_ptr<api::RunService::Stub> runs_ = api::RunService::NewStub(master_.channel());
};

TEST_F(RunsTest, FindsRunsByMetricsAndMetadata) {
  FakeAgent agent(master_, "a1", 1);
  int experiment = 0;
  const int id = Train(agent, &experiment);
  {
    // The task adds metadata to its run.
    CallContext context(token_);
    api::PostRunMetadataRequest request;
    request.set_run_id(id);
    (*request.mutable_metadata()->mutable_fields())["n"].set_number_value(7);
    api::PostRunMetadataResponse response;
    const grpc::Status status = runs_->PostRunMetadata(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    CallContext again(token_);
    request.set_run_id(id + 1);
    EXPECT_FALSE(runs_->PostRunMetadata(&again, request, &response).ok());
  }
  api::SearchRunsResponse found;
  ASSERT_TRUE(Search(Loss(">"), &found).ok());
  ASSERT_EQ(found.runs_size(), 1);
  EXPECT_EQ(found.pagination().total(), 1);
  const api::FlatRun& run = found.runs(0);
  EXPECT_EQ(run.id(), id);
  EXPECT_EQ(run.state(), api::Trial::STATE_ACTIVE);
  EXPECT_EQ(run.trial_state(), api::Trial::STATE_RUNNING);
  EXPECT_EQ(run.local_id(), "UNCAT-" + std::to_string(id));
  EXPECT_EQ(run.experiment().id(), experiment);
  EXPECT_EQ(run.metadata().fields().at("n").number_value(), 7);
  const auto& loss = run.summary_metrics()
                         .fields()
                         .at("validation_metrics")
                         .struct_value()
                         .fields()
                         .at("loss")
                         .struct_value()
                         .fields();
  EXPECT_EQ(loss.at("count").number_value(), 2);
  EXPECT_EQ(loss.at("last").number_value(), 1.25);
  ASSERT_TRUE(Search(Loss("<"), &found).ok());
  EXPECT_EQ(found.runs_size(), 0);
  EXPECT_THAT(Search(R"({"filterGroup":7})", &found).error_message(), HasSubstr("conjunction"));

  CallContext context("user");
  api::SearchExperimentsRequest request;
  request.set_filter(Loss(">"));
  api::SearchExperimentsResponse experiments;
  ASSERT_TRUE(runs_->SearchExperiments(&context, request, &experiments).ok());
  ASSERT_EQ(experiments.experiments_size(), 1);
  EXPECT_EQ(experiments.experiments(0).experiment().id(), experiment);
  EXPECT_EQ(experiments.experiments(0).best_trial().id(), id);
  EXPECT_FALSE(experiments.experiments(0).best_trial().has_best_checkpoint());

  // Without a sort, the oldest come first.
  const int newer = Create();
  CallContext again("user");
  ASSERT_TRUE(runs_->SearchExperiments(&again, api::SearchExperimentsRequest(), &experiments).ok());
  ASSERT_EQ(experiments.experiments_size(), 2);
  EXPECT_EQ(experiments.experiments(0).experiment().id(), experiment);
  EXPECT_EQ(experiments.experiments(1).experiment().id(), newer);
}

TEST_F(RunsTest, ReturnsMetricsForCharts) {
  FakeAgent agent(master_, "a1", 1);
  int experiment = 0;
  const int id = Train(agent, &experiment);
  {
    CallContext context("user");
    api::CompareTrialsRequest request;
    request.add_trial_ids(id);
    request.add_metric_ids("validation.loss");
    api::CompareTrialsResponse response;
    const grpc::Status status = runs_->CompareTrials(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    const auto& curve = response.trials(0).metrics(0);
    ASSERT_EQ(curve.data_size(), 2);
    EXPECT_EQ(curve.type(), api::METRIC_TYPE_VALIDATION);
    EXPECT_EQ(curve.data(1).batches(), 10);
    EXPECT_EQ(curve.data(1).values().fields().at("loss").number_value(), 1.25);
  }
  {
    CallContext context("user");
    api::TrialsSnapshotRequest request;
    request.set_experiment_id(experiment);
    request.set_metric_name("loss");
    request.set_group("validation");
    request.set_batches_processed(7);
    request.set_batches_margin(3);
    const auto stream = runs_->TrialsSnapshot(&context, request);
    api::TrialsSnapshotResponse response;
    ASSERT_TRUE(stream->Read(&response));
    ASSERT_EQ(response.trials_size(), 1);
    EXPECT_EQ(response.trials(0).batches_processed(), 10) << "within the margin";
  }
  CallContext context("user");
  api::GetProjectColumnsRequest request;
  request.set_id(1);
  request.set_table_type(api::TABLE_TYPE_RUN);
  api::GetProjectColumnsResponse response;
  ASSERT_TRUE(runs_->GetProjectColumns(&context, request, &response).ok());
  std::vector<std::string> names;
  for (const api::ProjectColumn& column : response.columns()) names.push_back(column.column());
  EXPECT_THAT(names, testing::IsSupersetOf({"id", "state", "validation.loss.min"}));
  // Metrics come after the fixed columns and before hyperparameters and metadata.
  const auto position = [&](const std::string& prefix) {
    return std::find_if(names.begin(), names.end(),
                        [&](const std::string& name) { return name.starts_with(prefix); });
  };
  EXPECT_LT(position("archived"), position("validation."));
  EXPECT_LT(position("validation."), position("metadata."));
}

TEST_F(RunsTest, StreamsNewMetricsUntilExperimentEnds) {
  FakeAgent agent(master_, "a1", 1);
  int experiment = 0;
  const int id = Train(agent, &experiment);
  CallContext context("user");
  api::MetricBatchesRequest request;
  request.set_experiment_id(experiment);
  request.set_metric_name("loss");
  request.set_group("validation");
  request.set_period_seconds(1);
  const auto stream = runs_->MetricBatches(&context, request);
  api::MetricBatchesResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_THAT(response.batches(), testing::ElementsAre(5, 10)) << "everything at first";
  ASSERT_TRUE(master_.store().AddMetrics({store::MakeReport(id, "validation", 15, 0)}).ok());
  model::MetricReport report = store::MakeReport(id, "validation", 20, 0);
  report.metrics = model::Value::Object{{"loss", 0.5}};
  ASSERT_TRUE(master_.store().AddMetrics({report}).ok());
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_THAT(response.batches(), testing::ElementsAre(20)) << "then what is new";
  CallContext kill("user");
  api::KillExperimentRequest end;
  end.set_id(experiment);
  api::KillExperimentResponse ended;
  ASSERT_TRUE(experiments_->KillExperiment(&kill, end, &ended).ok());
  bool is_open = true;
  for (int i = 0; i < 10 && is_open; ++i) is_open = stream->Read(&response);
  EXPECT_TRUE(is_open || stream->Finish().ok());
}

TEST_F(RunsTest, RejectsStreamsOfUnknownExperiments) {
  api::ExpMetricNamesResponse names;
  const auto get_code = [&](const std::vector<int32_t>& ids) {
    CallContext context("user");
    api::ExpMetricNamesRequest request;
    for (const int32_t id : ids) request.add_ids(id);
    const auto stream = runs_->ExpMetricNames(&context, request);
    while (stream->Read(&names)) {
    }
    return stream->Finish().error_code();
  };
  EXPECT_EQ(get_code({}), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(get_code({99}), grpc::StatusCode::NOT_FOUND);
}

TEST_F(RunsTest, RejectsInvalidMetadataKeys) {
  FakeAgent agent(master_, "a1", 1);
  int experiment = 0;
  const int id = Train(agent, &experiment);
  const auto post = [&](const std::string& key, const std::string& text) {
    CallContext context("user");
    api::PostRunMetadataRequest request;
    request.set_run_id(id);
    (*request.mutable_metadata()->mutable_fields())[key].set_string_value(text);
    api::PostRunMetadataResponse response;
    return runs_->PostRunMetadata(&context, request, &response).error_code();
  };
  EXPECT_EQ(post("team", "red"), grpc::StatusCode::OK);
  EXPECT_EQ(post("a.b", "red"), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(post(std::string(51, 'k'), "red"), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(post("k", std::string(5001, 'v')), grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace det::tests
