// Less frequent calls: renaming templates, log retention, checkpoint metadata, validation history,
// the log level of the master, windows of short lists, long polls whose callers disconnect.
#include <atomic>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "det/api/v1/agent.grpc.pb.h"
#include "det/api/v1/checkpoint.grpc.pb.h"
#include "det/api/v1/command.grpc.pb.h"
#include "det/api/v1/log_retention.grpc.pb.h"
#include "det/api/v1/master.grpc.pb.h"
#include "det/api/v1/search.grpc.pb.h"
#include "det/api/v1/task_runtime.grpc.pb.h"
#include "det/api/v1/template.grpc.pb.h"
#include "det/api/v1/webhook.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/store/testing/make_rows.h"
#include "master/tests/testing/integration_fixture.h"

namespace det::tests {
namespace {

using grpc::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;

class MiscellaneousCallsTest : public MasterIntegrationTest {};

TEST_F(MiscellaneousCallsTest, RenamesATemplate) {
  using Service = api::TemplateService;
  for (const char* name : {"small", "large"}) {
    ASSERT_TRUE(master_.store().templates().AddTemplate({name, "{name: x} # kept"}).ok());
  }
  api::PatchTemplateNameRequest request;
  request.set_old_name("small");
  request.set_new_name("tiny");
  api::PatchTemplateNameResponse response;
  ASSERT_TRUE(Call(&Service::Stub::PatchTemplateName, request, &response).ok());
  EXPECT_EQ(response.template_().name(), "tiny");
  EXPECT_THAT(response.template_().yaml(), HasSubstr("kept"));
  EXPECT_EQ(Call(&Service::Stub::PatchTemplateName, request, &response).error_code(),
            StatusCode::NOT_FOUND);
  request.set_old_name("tiny");
  request.set_new_name("large");
  EXPECT_EQ(Call(&Service::Stub::PatchTemplateName, request, &response).error_code(),
            StatusCode::ALREADY_EXISTS);
  request.set_new_name("a/b");
  const auto status = Call(&Service::Stub::PatchTemplateName, request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("new_name"));
}

// A template that cannot be read again would break the list for all users.
TEST_F(MiscellaneousCallsTest, RejectsTemplate_WhenItsObjectIsNestedTooDeeply) {
  using Service = api::TemplateService;
  api::PostTemplateRequest request;
  request.mutable_template_()->set_name("deep");
  google::protobuf::Struct* inner = request.mutable_template_()->mutable_config();
  for (int level = 0; level < 30; ++level) {
    inner = (*inner->mutable_fields())["a"].mutable_struct_value();
  }
  api::PostTemplateResponse response;
  const auto status = Call(&Service::Stub::PostTemplate, request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("nested"));
  api::GetTemplatesResponse list;
  EXPECT_TRUE(Call(&Service::Stub::GetTemplates, api::GetTemplatesRequest(), &list).ok());
  EXPECT_EQ(list.templates_size(), 0);
}

TEST_F(MiscellaneousCallsTest, ReportsRemainingLogRetentionDays) {
  using Service = api::LogRetentionService;
  master_.parts().info.log_days = 30;
  const int trial = Get(Create()).trial_ids(0);
  api::GetTrialRemainingLogRetentionDaysRequest request;
  request.set_id(trial);
  api::GetTrialRemainingLogRetentionDaysResponse response;
  const auto ask = [&] {
    return Call(&Service::Stub::GetTrialRemainingLogRetentionDays, request, &response);
  };
  ASSERT_TRUE(ask().ok());
  EXPECT_FALSE(response.has_remaining_days()) << "the trial has not ended";
  api::KillTrialRequest kill;
  kill.set_id(trial);
  api::KillTrialResponse killed;
  ASSERT_TRUE(Call(&api::TrialService::Stub::KillTrial, kill, &killed).ok());
  ASSERT_TRUE(ask().ok());
  EXPECT_EQ(response.remaining_days(), 30) << "the master's default";
  ASSERT_TRUE(master_.store().garbage_collection().SetTrialLogDays(model::TrialId(trial), 5).ok());
  ASSERT_TRUE(ask().ok());
  EXPECT_EQ(response.remaining_days(), 5);
  ASSERT_TRUE(master_.store().garbage_collection().SetTrialLogDays(model::TrialId(trial), -1).ok());
  ASSERT_TRUE(ask().ok());
  EXPECT_EQ(response.remaining_days(), -1) << "kept forever";
  request.set_id(99);
  EXPECT_EQ(ask().error_code(), StatusCode::NOT_FOUND);
}

TEST_F(MiscellaneousCallsTest, RemovesExpiredLogsOnRequest) {
  using Service = api::LogRetentionService;
  FakeAgent agent(master_, "a1", 1);
  int experiment = 0;
  const std::string allocation = Run(agent, &experiment);
  agent.Log(allocation, 1, "a line");
  agent.Exited(allocation, 0);
  agent.AwaitAck();
  Await(experiment);
  const auto remove = [&] {
    api::CleanupLogsResponse response;
    EXPECT_TRUE(Call(&Service::Stub::CleanupLogs, api::CleanupLogsRequest(), &response).ok());
    return response.removed_count();
  };
  EXPECT_EQ(remove(), 0) << "logs are kept forever";
  master_.parts().info.log_days = 0;
  EXPECT_GT(remove(), 0);
  EXPECT_EQ(remove(), 0);
}

TEST_F(MiscellaneousCallsTest, ReportsVersionThatExistingClientsCompare) {
  using Service = api::MasterService;
  api::GetInfoResponse info;
  ASSERT_TRUE(Call(&Service::Stub::GetInfo, api::GetInfoRequest(), &info).ok());
  EXPECT_EQ(info.version(), "0.38.1");
  EXPECT_EQ(info.resolute_version(), master_.parts().info.version);
  EXPECT_TRUE(info.telemetry().fields().contains("enabled"));
  api::GetMasterResponse master;
  ASSERT_TRUE(Call(&Service::Stub::GetMaster, api::GetMasterRequest(), &master).ok());
  EXPECT_EQ(master.version(), "0.38.1");
  EXPECT_EQ(master.resolute_version(), info.resolute_version());
}

TEST_F(MiscellaneousCallsTest, ListsCheckpointsInTheRequestedOrder) {
  using Service = api::CheckpointService;
  const int experiment = Create();  // the smallest loss is the best
  const int trial = Get(experiment).trial_ids(0);
  std::vector<cluster::Change> changes;
  const double losses[] = {0.5, 0.125, 0.75};
  for (int i = 0; i < 3; ++i) {
    const int64_t steps = i + 1;
    model::MetricReport report = store::MakeReport(trial, "validation", steps, 0);
    report.metrics = model::Value::Object{{"loss", losses[i]}};
    changes.emplace_back(
        cluster::AddCheckpoint{store::MakeCheckpoint(std::string(1, 'a' + i), trial, steps)});
    changes.emplace_back(cluster::AddMetrics{report});
  }
  ASSERT_TRUE(master_.store().Commit(1000000, changes).ok());
  api::GetTrialCheckpointsRequest request;
  request.set_id(trial);
  api::GetTrialCheckpointsResponse response;
  const auto ask = [&] {
    std::string order;
    EXPECT_TRUE(Call(&Service::Stub::GetTrialCheckpoints, request, &response).ok());
    for (const auto& each : response.checkpoints()) order += each.uuid();
    return order;
  };
  EXPECT_EQ(ask(), "abc");
  request.set_sort_by_attr(api::Checkpoint::SORT_BY_SEARCHER_METRIC);
  EXPECT_EQ(ask(), "bac");
  request.set_order_by(api::ORDER_BY_DESC);
  EXPECT_EQ(ask(), "cab");
  request.clear_sort_by_attr();
  request.set_sort_by_metric("loss");
  EXPECT_EQ(ask(), "cab");
  request.set_sort_by_attr(api::Checkpoint::SORT_BY_UUID);
  const auto both = Call(&Service::Stub::GetTrialCheckpoints, request, &response);
  EXPECT_EQ(both.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(both.error_message(), HasSubstr("one of them"));

  api::GetExperimentCheckpointsRequest whole;
  whole.set_id(experiment);
  whole.set_sort_by_attr(api::Checkpoint::SORT_BY_SEARCHER_METRIC);
  api::GetExperimentCheckpointsResponse best;
  ASSERT_TRUE(Call(&Service::Stub::GetExperimentCheckpoints, whole, &best).ok());
  EXPECT_EQ(best.checkpoints(0).uuid(), "b");
}

TEST_F(MiscellaneousCallsTest, ReplacesCheckpointMetadata) {
  using Service = api::CheckpointService;
  const int trial = Get(Create()).trial_ids(0);
  ASSERT_TRUE(master_.store()
                  .Commit(1000000, {cluster::AddCheckpoint{store::MakeCheckpoint("a", trial, 1)}})
                  .ok());
  api::PostCheckpointMetadataRequest request;
  request.mutable_checkpoint()->set_uuid("a");
  auto& metadata = *request.mutable_checkpoint()->mutable_metadata()->mutable_fields();
  metadata["note"].set_string_value("good");
  api::PostCheckpointMetadataResponse response;
  ASSERT_TRUE(Call(&Service::Stub::PostCheckpointMetadata, request, &response).ok());
  const auto& kept = response.checkpoint().metadata().fields();
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept.at("note").string_value(), "good");
  EXPECT_EQ(kept.at("steps_completed").number_value(), 1) << "added to every checkpoint";
  EXPECT_EQ(response.checkpoint().training().trial_id(), trial);
  request.mutable_checkpoint()->set_uuid("b");
  EXPECT_EQ(Call(&Service::Stub::PostCheckpointMetadata, request, &response).error_code(),
            StatusCode::NOT_FOUND);
}

TEST_F(MiscellaneousCallsTest, ReturnsTheValidationHistory) {
  using Service = api::SearchService;
  const int trial = Get(Create()).trial_ids(0);
  std::vector<model::MetricReport> reports;
  for (const auto& [step, loss] : std::vector<std::pair<int, double>>{{1, 3}, {2, 4}, {3, 1}}) {
    reports.push_back(store::MakeReport(trial, "validation", step, 0));
    reports.back().metrics = model::Value::Object{{"loss", loss}};
    reports.back().time = absl::FromUnixSeconds(1000 + step);
  }
  ASSERT_TRUE(master_.store().AddMetrics(reports).ok());
  api::GetExperimentValidationHistoryRequest request;
  request.set_experiment_id(1);
  api::GetExperimentValidationHistoryResponse response;
  ASSERT_TRUE(Call(&Service::Stub::GetExperimentValidationHistory, request, &response).ok());
  ASSERT_EQ(response.validation_history_size(), 2);
  EXPECT_EQ(response.validation_history(0).searcher_metric(), 3);
  EXPECT_EQ(response.validation_history(1).searcher_metric(), 1);
  EXPECT_EQ(response.validation_history(1).end_time().seconds(), 1003);
  EXPECT_EQ(response.validation_history(1).trial_id(), trial);
}

TEST_F(MiscellaneousCallsTest, ReportsAndReadsMetricsOfOneGroup) {
  FakeAgent agent(master_, "a1", 1);
  Run(agent);
  using Runtime = api::TaskRuntimeService;
  api::ReportTrialTrainingMetricsRequest training;
  training.mutable_training_metrics()->set_trial_id(1);
  training.mutable_training_metrics()->set_steps_completed(2);
  (*training.mutable_training_metrics()
        ->mutable_metrics()
        ->mutable_avg_metrics()
        ->mutable_fields())["loss"]
      .set_number_value(0.5);
  api::ReportTrialValidationMetricsRequest validation;
  *validation.mutable_validation_metrics() = training.training_metrics();
  validation.mutable_validation_metrics()->set_steps_completed(3);
  api::ReportTrialMetricsResponse done;
  const auto reported = Call(&Runtime::Stub::ReportTrialTrainingMetrics, training, &done, token_);
  ASSERT_TRUE(reported.ok()) << reported.error_message();
  ASSERT_TRUE(Call(&Runtime::Stub::ReportTrialValidationMetrics, validation, &done, token_).ok());
  const auto only = [](auto stream) {
    api::GetMetricsResponse response;
    EXPECT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.metrics_size(), 1);
    const api::MetricsReport report = response.metrics(0);
    EXPECT_FALSE(stream->Read(&response));
    EXPECT_TRUE(stream->Finish().ok());
    return report;
  };
  CallContext first("user"), second("user");
  api::GetTrainingMetricsRequest of_training;
  of_training.add_trial_ids(1);
  EXPECT_EQ(only(trials_->GetTrainingMetrics(&first, of_training)).total_batches(), 2);
  api::GetValidationMetricsRequest of_validation;
  of_validation.add_trial_ids(1);
  EXPECT_EQ(only(trials_->GetValidationMetrics(&second, of_validation)).total_batches(), 3);
}

// Otherwise the call would wait up to ten minutes, and so would the shutdown of the master.
TEST_F(MiscellaneousCallsTest, LongPollEnds_WhenTheCallerDisconnects) {
  std::atomic<int> canceled = 0;
  master_.on_call() = [&](absl::StatusCode code) {
    if (code == absl::StatusCode::kCancelled) ++canceled;
  };
  FakeAgent agent(master_, "a1", 1);
  ASSERT_TRUE(agent.Next().has_registered());
  Create();
  const wire::StartTask start = agent.Next().start();
  const auto stub = api::TaskRuntimeService::NewStub(master_.channel());
  const auto leave = [&](auto method, auto request, auto response) {
    request.set_allocation_id(start.task().allocation_id());
    const int before = canceled;
    // A call may end before it reaches the master, so each has a longer deadline than the last.
    for (std::chrono::milliseconds time(1); canceled == before; time *= 2) {
      CallContext context(start.task().session_token());
      context.set_deadline(std::chrono::system_clock::now() + time);
      EXPECT_EQ((stub.get()->*method)(&context, request, &response).error_code(),
                StatusCode::DEADLINE_EXCEEDED);
    }
  };
  using Stub = api::TaskRuntimeService::Stub;
  leave(&Stub::AllocationRendezvousInfo, api::AllocationRendezvousInfoRequest(),
        api::AllocationRendezvousInfoResponse());
  agent.Started(start.task().allocation_id());
  agent.AwaitAck();
  api::AllocationPreemptionSignalRequest signal;
  signal.set_timeout_seconds(600);
  leave(&Stub::AllocationPreemptionSignal, signal, api::AllocationPreemptionSignalResponse());
}

TEST_F(MiscellaneousCallsTest, ChangesTheLogLevel) {
  using Service = api::MasterService;
  const base::LogLevel before = base::GetLogLevel();
  api::PatchMasterConfigRequest request;
  api::PatchMasterConfigResponse response;
  const auto patch = [&] {
    return Call(&Service::Stub::PatchMasterConfig, request, &response).error_code();
  };
  request.mutable_config()->mutable_log()->set_level(api::LOG_LEVEL_ERROR);
  request.mutable_field_mask()->add_paths("log.level");
  EXPECT_EQ(patch(), StatusCode::OK);
  EXPECT_EQ(base::GetLogLevel(), base::LogLevel::kError);
  api::GetMasterConfigResponse shown;
  ASSERT_TRUE(Call(&Service::Stub::GetMasterConfig, api::GetMasterConfigRequest(), &shown).ok());
  EXPECT_EQ(shown.config().fields().at("log").struct_value().fields().at("level").string_value(),
            "error");
  request.mutable_config()->mutable_log()->clear_level();
  EXPECT_EQ(patch(), StatusCode::INVALID_ARGUMENT);
  request.mutable_config()->mutable_log()->set_color(true);
  request.mutable_config()->mutable_log()->set_level(api::LOG_LEVEL_DEBUG);
  request.mutable_field_mask()->add_paths("log.color");
  EXPECT_EQ(patch(), StatusCode::FAILED_PRECONDITION);
  request.mutable_field_mask()->set_paths(1, "port");
  EXPECT_EQ(patch(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(base::GetLogLevel(), base::LogLevel::kError) << "an invalid request changes nothing";
  request.clear_field_mask();
  request.mutable_config()->mutable_log()->set_color(false);
  EXPECT_EQ(patch(), StatusCode::OK);
  EXPECT_EQ(base::GetLogLevel(), base::LogLevel::kDebug);
  base::SetLogLevel(before);
}

TEST_F(MiscellaneousCallsTest, RejectsCallsForUnknownCommand) {
  using Service = api::CommandService;
  api::CommandRequest request;
  request.set_id("a");
  api::GetCommandResponse read;
  grpc::Status status = Call(&Service::Stub::GetCommand, request, &read);
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("not found"));
  api::KillShellResponse killed;
  status = Call(&Service::Stub::KillShell, request, &killed);
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
}

TEST_F(MiscellaneousCallsTest, AppliesWindowsToShortLists) {
  FakeAgent agent(master_, "a1", 3);
  ASSERT_TRUE(agent.Next().has_registered());
  api::GetSlotsRequest slots;
  slots.set_agent_id("a1");
  slots.set_offset(1);
  slots.set_limit(1);
  api::GetSlotsResponse some;
  ASSERT_TRUE(Call(&api::AgentService::Stub::GetSlots, slots, &some).ok());
  ASSERT_EQ(some.slots_size(), 1);
  EXPECT_EQ(some.slots(0).device().id(), 1);
  EXPECT_EQ(some.pagination().total(), 3);
  EXPECT_EQ(some.pagination().end_index(), 2);

  slots.set_order_by(api::ORDER_BY_DESC);
  slots.set_offset(0);
  some.Clear();
  ASSERT_TRUE(Call(&api::AgentService::Stub::GetSlots, slots, &some).ok());
  EXPECT_EQ(some.slots(0).device().id(), 2);

  FakeAgent later(master_, "a0", 1);
  ASSERT_TRUE(later.Next().has_registered());
  using Sort = api::GetAgentsRequest;
  const auto first = [&](Sort::SortBy by, api::OrderBy order) {
    api::GetAgentsRequest agents;
    agents.set_sort_by(by);
    agents.set_order_by(order);
    agents.set_limit(1);
    api::GetAgentsResponse found;
    EXPECT_TRUE(Call(&api::AgentService::Stub::GetAgents, agents, &found).ok());
    EXPECT_EQ(found.pagination().total(), 2);
    return found.agents(0).id();
  };
  EXPECT_EQ(first(Sort::SORT_BY_ID, api::ORDER_BY_ASC), "a0");
  EXPECT_EQ(first(Sort::SORT_BY_ID, api::ORDER_BY_DESC), "a1");
  EXPECT_EQ(first(Sort::SORT_BY_TIME, api::ORDER_BY_ASC), "a1");

  for (const char* name : {"a", "b", "c"}) {
    store::WebhookRecord hook;
    hook.name = name;
    hook.url = "http://h";
    hook.workspace = 1;
    ASSERT_TRUE(master_.store().webhooks().AddWebhook(hook).ok());
  }
  using Webhooks = api::WebhookService;
  api::GetWebhooksRequest last;
  last.set_offset(-1);
  api::GetWebhooksResponse hooks;
  ASSERT_TRUE(Call(&Webhooks::Stub::GetWebhooks, last, &hooks).ok());
  ASSERT_EQ(hooks.webhooks_size(), 1);
  EXPECT_EQ(hooks.webhooks(0).name(), "c");
  EXPECT_EQ(hooks.pagination().total(), 3);
  last.set_order_by(api::ORDER_BY_DESC);
  hooks.Clear();
  ASSERT_TRUE(Call(&Webhooks::Stub::GetWebhooks, last, &hooks).ok());
  EXPECT_EQ(hooks.webhooks(0).name(), "a");

  for (const char* target : {"1", "2", "3"}) {
    store::AuditRecord record;
    record.target = target;
    ASSERT_TRUE(master_.store().audit().AddAudit({record}).ok());
  }
  api::GetAuditRequest audit;
  audit.set_offset(1);
  audit.set_limit(1);
  api::GetAuditResponse records;
  ASSERT_TRUE(Call(&api::MasterService::Stub::GetAudit, audit, &records).ok());
  ASSERT_EQ(records.records_size(), 1);
  EXPECT_EQ(records.records(0).target(), "2");
  EXPECT_EQ(records.pagination().total(), 3);
  EXPECT_EQ(records.pagination().start_index(), 1);
}

}  // namespace
}  // namespace det::tests
