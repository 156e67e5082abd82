// Search for runs by hyperparameters, metrics and metadata with permissions, and comparison of
// runs.
#include <memory>
#include <string>
#include <vector>

#include "det/api/v1/run.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
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
  EXPECT_EQ(run.state(), api::Trial::STATE_RUNNING);
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
    EXPECT_EQ(response.trials(0).batches_processed(), 5);
    EXPECT_FALSE(stream->Read(&response));
    EXPECT_TRUE(stream->Finish().ok());
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
}

}  // namespace
}  // namespace det::tests
