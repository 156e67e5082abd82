// The protocol between running trials and the master.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "master/tests/testing/integration_fixture.h"

namespace det::tests {
namespace {

TEST_F(MasterIntegrationTest, UsersReadWhatATrialReports) {
  FakeAgent agent(master_, "a1", 1);
  int id = 0;
  const std::string allocation = Run(agent, &id);
  const int trial_id = Get(id).trial_ids(0);
  trial::ReportMetricsRequest request;
  request.set_allocation_id(allocation);
  request.set_trial_id(trial_id);
  for (const char* group : {"training", "validation"}) {
    auto* report = request.add_reports();
    report->set_group(group);
    report->set_steps_completed(5);
    (*report->mutable_metrics()->mutable_fields())["loss"].set_number_value(0.25);
  }
  trial::ReportMetricsResponse response;
  for (int i = 0; i < 2; ++i) {
    CallContext context(token_);
    const grpc::Status status = runtime_->ReportMetrics(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(response.best_so_far());
  }
  {
    CallContext context(token_);
    trial::ReportCheckpointRequest checkpoint;
    checkpoint.set_allocation_id(allocation);
    checkpoint.set_trial_id(trial_id);
    checkpoint.set_uuid("0b2f6c1e-7a54-4d0b-9c3e-5f2a1d8e7b60");
    checkpoint.set_steps_completed(5);
    (*checkpoint.mutable_resources())["model.pt"] = 7;
    trial::ReportCheckpointResponse none;
    ASSERT_TRUE(runtime_->ReportCheckpoint(&context, checkpoint, &none).ok());
  }
  EXPECT_EQ(Get(id).best_trial_searcher_metric(), 0.25);
  EXPECT_EQ(Get(id).checkpoint_count(), 1);
  const api::Trial shown = GetTrial(trial_id);
  EXPECT_EQ(shown.latest_checkpoint_uuid(), "0b2f6c1e-7a54-4d0b-9c3e-5f2a1d8e7b60");
  EXPECT_EQ(shown.best_validation().total_batches(), 5);

  CallContext context("user");
  api::GetMetricsRequest ask;
  ask.add_trial_ids(trial_id);
  const auto stream = trials_->GetMetrics(&context, ask);
  api::GetMetricsResponse metrics;
  ASSERT_TRUE(stream->Read(&metrics));
  EXPECT_EQ(metrics.metrics_size(), 2);  // each once
  (void)stream->Finish();

  // Rejected with the token of another task, and after the end of the trial.
  CallContext wrong(master_.MakeTaskToken("1.99.0"));
  EXPECT_EQ(runtime_->ReportMetrics(&wrong, request, &response).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  agent.Exited(allocation, 0);
  EXPECT_EQ(Await(id).state(), api::Experiment::STATE_COMPLETED);
  CallContext late(token_);
  EXPECT_EQ(runtime_->ReportMetrics(&late, request, &response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

// Also if the metrics do not change the experiment.
TEST_F(MasterIntegrationTest, WatchReportsThatMetricsChanged) {
  FakeAgent agent(master_, "a1", 1);
  int id = 0;
  const std::string allocation = Run(agent, &id);
  CallContext watching("user");
  api::WatchExperimentRequest watch;
  watch.set_experiment_id(id);
  const auto stream = experiments_->WatchExperiment(&watching, watch);
  api::WatchExperimentResponse news;
  ASSERT_TRUE(stream->Read(&news));
  EXPECT_TRUE(news.has_experiment());
  trial::ReportMetricsRequest request;
  request.set_allocation_id(allocation);
  request.set_trial_id(Get(id).trial_ids(0));
  for (int i = 1; i <= 2; ++i) {
    request.clear_reports();
    auto* report = request.add_reports();
    report->set_group("training");
    report->set_steps_completed(i);
    (*report->mutable_metrics()->mutable_fields())["loss"].set_number_value(0.25);
    CallContext context(token_);
    trial::ReportMetricsResponse response;
    ASSERT_TRUE(runtime_->ReportMetrics(&context, request, &response).ok());
    do {
      ASSERT_TRUE(stream->Read(&news));
    } while (news.has_experiment());
    EXPECT_EQ(news.reports(), i);
  }
  agent.Exited(allocation, 0);
  while (stream->Read(&news)) {
  }
  EXPECT_TRUE(stream->Finish().ok());
}

// The stream contains the reported metrics, so that the client need not read them again, also after
// it reconnects.
TEST_F(MasterIntegrationTest, WatchSendsReportedMetricsAndTrialState) {
  FakeAgent agent(master_, "a1", 1);
  int id = 0;
  const std::string allocation = Run(agent, &id);
  const int trial_id = Get(id).trial_ids(0);
  const auto report = [&](int steps, const std::string& group) {
    CallContext context(token_);
    trial::ReportMetricsRequest request;
    request.set_allocation_id(allocation);
    request.set_trial_id(trial_id);
    auto* one = request.add_reports();
    one->set_group(group);
    one->set_steps_completed(steps);
    (*one->mutable_metrics()->mutable_fields())["loss"].set_number_value(0.25);
    trial::ReportMetricsResponse response;
    ASSERT_TRUE(runtime_->ReportMetrics(&context, request, &response).ok());
  };
  api::WatchExperimentRequest watch;
  watch.set_experiment_id(id);
  watch.set_points(true);
  watch.set_trial_id(trial_id);
  api::WatchExperimentResponse news;
  {
    CallContext watching("user");
    const auto stream = experiments_->WatchExperiment(&watching, watch);
    ASSERT_TRUE(stream->Read(&news));
    EXPECT_TRUE(news.has_experiment());
    EXPECT_TRUE(news.missed()) << "the client must read earlier metrics";
    watch.set_after(news.position());
    while (!news.has_trial()) ASSERT_TRUE(stream->Read(&news));
    EXPECT_EQ(news.trial().id(), trial_id);
    report(1, "training");
    while (news.points().empty()) ASSERT_TRUE(stream->Read(&news));
    EXPECT_EQ(news.points(0).trial_id(), trial_id);
    EXPECT_EQ(news.points(0).batches(), 1);
    EXPECT_EQ(news.points(0).values().fields().at("loss").number_value(), 0.25);
    watching.TryCancel();
  }
  report(2, "validation");
  CallContext watching("user");
  const auto stream = experiments_->WatchExperiment(&watching, watch);
  ASSERT_TRUE(stream->Read(&news));
  EXPECT_TRUE(news.has_experiment());
  EXPECT_FALSE(news.missed());
  // The stream sends the last reports before it ends.
  report(3, "training");
  agent.Exited(allocation, 0);
  std::vector<int> steps;
  while (stream->Read(&news)) {
    for (const auto& point : news.points()) steps.push_back(point.batches());
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(steps, (std::vector<int>{1, 2, 3}));
}

TEST_F(MasterIntegrationTest, WatchRejectsATrialOfAnotherExperiment) {
  FakeAgent agent(master_, "a1", 1);
  int id = 0;
  const std::string allocation = Run(agent, &id);
  CallContext watching("user");
  api::WatchExperimentRequest watch;
  watch.set_experiment_id(id);
  watch.set_trial_id(Get(id).trial_ids(0) + 1000);
  const auto stream = experiments_->WatchExperiment(&watching, watch);
  api::WatchExperimentResponse news;
  while (stream->Read(&news)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
  agent.Exited(allocation, 0);
}

// All watchers share the refreshes, independent of when they joined.
TEST_F(MasterIntegrationTest, SendsEachChangeToAllWatchers) {
  FakeAgent agent(master_, "a1", 1);
  int id = 0;
  const std::string allocation = Run(agent, &id);
  api::WatchExperimentRequest watch;
  watch.set_experiment_id(id);
  struct Watcher {
    CallContext context = CallContext("user");
    std::unique_ptr<grpc::ClientReader<api::WatchExperimentResponse>> stream;
    api::WatchExperimentResponse news;
  };
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int i = 0; i < 20; ++i) {
    auto& each = *watchers.emplace_back(std::make_unique<Watcher>());
    each.stream = experiments_->WatchExperiment(&each.context, watch);
    ASSERT_TRUE(each.stream->Read(&each.news));
    EXPECT_EQ(each.news.experiment().id(), id);
  }
  CallContext patching("user");
  api::PatchExperimentRequest patch;
  patch.mutable_experiment()->set_id(id);
  patch.mutable_experiment()->set_name("renamed");
  api::PatchExperimentResponse patched;
  ASSERT_TRUE(experiments_->PatchExperiment(&patching, patch, &patched).ok());
  for (const auto& each : watchers) {
    while (each->news.experiment().name() != "renamed")
      ASSERT_TRUE(each->stream->Read(&each->news));
  }
  agent.Exited(allocation, 0);
  for (const auto& each : watchers) {
    auto state = each->news.experiment().state();
    while (each->stream->Read(&each->news)) state = each->news.experiment().state();
    EXPECT_EQ(state, api::Experiment::STATE_COMPLETED);
    EXPECT_TRUE(each->stream->Finish().ok());
  }
}

TEST_F(MasterIntegrationTest, ShowsADamagedCheckpoint) {
  FakeAgent agent(master_, "a1", 1);
  int id = 0;
  const std::string allocation = Run(agent, &id);
  const int trial_id = Get(id).trial_ids(0);
  const std::string first = "0b2f6c1e-7a54-4d0b-9c3e-5f2a1d8e7b60";
  const std::string second = "1b2f6c1e-7a54-4d0b-9c3e-5f2a1d8e7b60";
  const auto report = [&](const std::string& uuid, int steps, const std::string& damage,
                          const std::string& instead) {
    CallContext context(token_);
    trial::ReportCheckpointRequest request;
    request.set_allocation_id(allocation);
    request.set_trial_id(trial_id);
    request.set_uuid(uuid);
    request.set_steps_completed(steps);
    request.set_damage(damage);
    request.set_instead(instead);
    trial::ReportCheckpointResponse none;
    return runtime_->ReportCheckpoint(&context, request, &none).error_code();
  };
  EXPECT_EQ(report(first, 5, "", ""), grpc::StatusCode::OK);
  EXPECT_EQ(report(second, 10, "", ""), grpc::StatusCode::OK);
  EXPECT_EQ(report(second, 5, "model.pt is missing", ""), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(GetTrial(trial_id).latest_checkpoint_uuid(), second);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(report(second, 5, "model.pt is missing", first), grpc::StatusCode::OK);
    EXPECT_EQ(GetTrial(trial_id).latest_checkpoint_uuid(), first);
    EXPECT_EQ(Get(id).checkpoint_count(), 2);  // The files still exist.
  }
  agent.Exited(allocation, 0);
}

TEST_F(MasterIntegrationTest, DoesNotOverwriteTheCheckpointOfAnotherTrial) {
  FakeAgent agent(master_, "a1", 2);
  int first = 0;
  const std::string theirs = Run(agent, &first);
  const int second = Create();
  const std::string mine = agent.Next().start().task().allocation_id();
  agent.Started(mine);
  agent.AwaitAck();
  const std::string uuid = "0b2f6c1e-7a54-4d0b-9c3e-5f2a1d8e7b60";
  const auto report = [&](const std::string& allocation, int experiment, const std::string& file) {
    CallContext context(master_.MakeTaskToken(allocation));
    trial::ReportCheckpointRequest request;
    request.set_allocation_id(allocation);
    request.set_trial_id(Get(experiment).trial_ids(0));
    request.set_uuid(uuid);
    request.set_steps_completed(5);
    (*request.mutable_resources())[file] = 7;
    trial::ReportCheckpointResponse none;
    return runtime_->ReportCheckpoint(&context, request, &none);
  };
  ASSERT_TRUE(report(theirs, first, "model.pt").ok());
  const grpc::Status refused = report(mine, second, "other.pt");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(refused.error_message(),
            "checkpoint " + uuid + " belongs to another trial; use a new UUID");
  const auto kept = master_.store().GetCheckpoint(model::CheckpointId(uuid))->checkpoint;
  EXPECT_EQ(kept.trial.value(), Get(first).trial_ids(0));
  EXPECT_TRUE(kept.resources.contains("model.pt"));
  EXPECT_EQ(GetTrial(Get(second).trial_ids(0)).latest_checkpoint_uuid(), "");
  EXPECT_TRUE(report(theirs, first, "model.pt").ok())
      << "the trial may report its own checkpoint again";
  agent.Exited(theirs, 0);
  agent.Exited(mine, 0);
}

TEST_F(MasterIntegrationTest, WatchSendsRendezvousAndPreemptionToLateWatchers) {
  FakeAgent agent(master_, "a1", 1);
  int id = 0;
  const std::string allocation = Run(agent, &id);
  CallContext context(token_);
  trial::WatchAllocationRequest request;
  request.set_allocation_id(allocation);
  const auto stream = runtime_->WatchAllocation(&context, request);
  trial::AllocationUpdate update;
  ASSERT_TRUE(stream->Read(&update));
  ASSERT_EQ(update.rendezvous().nodes_size(), 1);
  EXPECT_EQ(update.rendezvous().nodes(0).address(), "10.0.0.1");
  {
    CallContext user("user");
    api::PauseExperimentRequest pause;
    pause.set_id(id);
    api::PauseExperimentResponse none;
    ASSERT_TRUE(experiments_->PauseExperiment(&user, pause, &none).ok());
  }
  while (stream->Read(&update) && !update.has_preemption()) {
  }
  EXPECT_TRUE(update.has_preemption());
  {
    CallContext task(token_);
    trial::AckPreemptionRequest ack;
    ack.set_allocation_id(allocation);
    trial::AckPreemptionResponse none;
    ASSERT_TRUE(runtime_->AckPreemption(&task, ack, &none).ok());
  }
  agent.Exited(allocation, 0);
  while (stream->Read(&update)) {
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(Get(id).state(), api::Experiment::STATE_PAUSED);
}

TEST_F(MasterIntegrationTest, GathersDataOfAllRanks) {
  FakeAgent agent(master_, "a1", 1);
  const std::string allocation = Run(agent);
  const auto join = [&](int rank, trial::AllGatherResponse* response) {
    CallContext context(token_);
    trial::AllGatherRequest request;
    request.set_allocation_id(allocation);
    request.set_key("k");
    request.set_rank(rank);
    request.set_num_peers(2);
    request.set_data(std::string(1, static_cast<char>('a' + rank)));
    return runtime_->AllGather(&context, request, response);
  };
  trial::AllGatherResponse first, second;
  std::thread other([&] { EXPECT_TRUE(join(1, &second).ok()); });
  EXPECT_TRUE(join(0, &first).ok());
  other.join();
  ASSERT_EQ(first.data_size(), 2);
  EXPECT_EQ(first.data(1), "b");
  EXPECT_EQ(second.data(0), "a");
}

}  // namespace
}  // namespace det::tests
