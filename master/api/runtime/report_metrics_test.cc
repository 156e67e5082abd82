#include "master/api/runtime/report_metrics.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/synchronization/notification.h"
#include "base/clock.h"
#include "base/fake_event_loop.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/core/cluster/testing/fixture.h"
#include "master/engine/engine.h"
#include "master/engine/testing/null_sink.h"
#include "master/store/testing/fake_store.h"
#include "master/store/testing/faulty_store.h"
#include "master/webhooks/conditions.h"
#include "master/webhooks/trigger_watch.h"

namespace det::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// A running trial "1.1.1" in an engine whose loops the test runs.
class ReportMetricsTest : public ::testing::Test {
 protected:
  ReportMetricsTest()
      : store_(&fake_),
        engine_(
            cluster::Settings{.cluster_id = "test"}, &store_, &loop_,
            engine::Sinks{&sink_, &sink_, &sink_},
            [](const absl::Status& status) { ADD_FAILURE() << status; }, &commits_) {
    EXPECT_TRUE(engine_.Start().ok());
    cluster::AgentRegistered agent;
    agent.agent.id = model::AgentId("a");
    agent.agent.resource_pool = "default";
    agent.agent.slots.push_back({.id = 0});
    cluster::CreateExperiment create;
    create.config = cluster::MakeConfig();
    create.owner = model::UserId(1);
    engine_.Submit(std::move(agent));
    engine_.Submit(std::move(create));
    Settle();
    engine_.Submit(cluster::LocalTaskStarted{allocation_, model::AgentId("a")});
    Settle();
  }

  void Settle() {
    while (!loop_.IsIdle() || !commits_.IsIdle()) {
      loop_.RunUntilIdle();
      commits_.RunUntilIdle();
    }
  }

  // Reports one metric for each pair of group and steps; returns the result.
  std::optional<absl::Status> Report(const std::vector<std::pair<std::string, int>>& reports) {
    det::trial::v1::ReportMetricsRequest request;
    for (const auto& [group, steps] : reports) {
      // The smallest value is the best one: that of the last report.
      AddReport(request, group, steps, {{"loss", 1.0 / steps}});
    }
    return Send(request);
  }

  using Numbers = std::vector<std::pair<std::string, double>>;
  std::optional<absl::Status> Validate(int steps, const Numbers& metrics) {
    det::trial::v1::ReportMetricsRequest request;
    AddReport(request, "validation", steps, metrics);
    return Send(request);
  }

  static void AddReport(det::trial::v1::ReportMetricsRequest& request, const std::string& group,
                        int steps, const Numbers& metrics) {
    auto& report = *request.add_reports();
    report.set_group(group);
    report.set_steps_completed(steps);
    for (const auto& [name, value] : metrics) {
      (*report.mutable_metrics()->mutable_fields())[name].set_number_value(value);
    }
  }

  std::optional<absl::Status> Send(det::trial::v1::ReportMetricsRequest request) {
    request.set_trial_id(1);
    auto converted = ToReports(request, loop_.Now());
    if (!converted.ok()) return converted.status();
    std::optional<absl::Status> result;
    AddMetrics(
        engine_, store_, watch_, nullptr, pool_, model::ExperimentId(1), allocation_,
        *std::move(converted), [this] { ++best_; },
        [&result](absl::Status status) { result = std::move(status); });
    Settle();
    return result;
  }

  // Starts to report a validation, as another request of the same task does at the same time.
  std::shared_ptr<std::optional<absl::Status>> Begin(int steps, const Numbers& metrics) {
    det::trial::v1::ReportMetricsRequest request;
    request.set_trial_id(1);
    AddReport(request, "validation", steps, metrics);
    const auto result = std::make_shared<std::optional<absl::Status>>();
    AddMetrics(engine_, store_, watch_, nullptr, pool_, model::ExperimentId(1), allocation_,
               *ToReports(request, loop_.Now()), nullptr,
               [result](absl::Status status) { *result = std::move(status); });
    return result;
  }

  // Returns the number of reports that streams have received since feed().Open().
  int CountPublished() {
    watch_.feed().Seal(model::ExperimentId(1));
    int points = 0;
    for (const auto& message : watch_.feed().ReadAfter(model::ExperimentId(1), 0).messages) {
      points += message->points_size();
    }
    return points;
  }

  // Returns the stored metrics of a step.
  model::Value ReadStored(const std::string& group, int steps) {
    const std::vector<model::MetricReport> reports = *fake_.ListMetrics({model::TrialId(1)}, group);
    for (const model::MetricReport& report : reports) {
      if (report.steps_completed == steps) return report.metrics;
    }
    return {};
  }

  std::string ReadLog() {
    std::string texts;
    const std::vector<store::LogRecord> records = *fake_.ListLogs({.task = model::TaskId("1.1")});
    for (const store::LogRecord& record : records) {
      texts += record.line.text + "\n";
    }
    return texts;
  }

  const model::AllocationId allocation_ = model::AllocationId("1.1.1");
  base::FakeEventLoop loop_;
  base::FakeEventLoop commits_;
  base::ThreadPool pool_{1};
  store::FakeStore fake_;
  store::FaultyStore store_;
  engine::NullSink sink_;
  live::ExperimentWatch watch_;
  engine::Engine engine_;
  base::FakeClock clock_;
  webhooks::TriggerWatch triggers_{&fake_, &clock_, [] {}};
  int best_ = 0;
};

TEST_F(ReportMetricsTest, CommitsAllValidationsOfReportOnce) {
  const size_t before = store_.commits().size();
  EXPECT_EQ(Report({{"validation", 10}, {"training", 10}, {"validation", 20}, {"validation", 30}}),
            absl::OkStatus());
  const std::vector<store::FaultyStore::Call> commits = store_.commits();
  ASSERT_THAT(commits, SizeIs(before + 1));
  std::vector<int64_t> steps;
  for (const cluster::Change& change : commits.back().changes) {
    if (const auto* added = std::get_if<cluster::AddMetrics>(&change)) {
      steps.push_back(added->report.steps_completed);
    }
  }
  EXPECT_THAT(steps, ElementsAre(10, 20, 30));
  EXPECT_EQ(best_, 1);
}

TEST_F(ReportMetricsTest, AddsMetricsToValidation_WhenStepIsReportedAgain) {
  EXPECT_EQ(Validate(10, {{"loss", 0.5}}), absl::OkStatus());
  EXPECT_EQ(best_, 1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Validate(10, {{"accuracy", 0.25}}), absl::OkStatus());
    EXPECT_EQ(Validate(10, {{"loss", 0.5}, {"accuracy", 0.25}}), absl::OkStatus());
    EXPECT_EQ(ReadStored("validation", 10),
              (model::Value::Object{{"loss", 0.5}, {"accuracy", 0.25}}));
  }
  EXPECT_THAT(ReadLog(), Not(HasSubstr("has no metric loss")));
  const store::TrialRecord trial = *fake_.GetTrial(model::TrialId(1));
  EXPECT_EQ(trial.metrics.at({"validation", "loss"}).count, 1);
  EXPECT_EQ(trial.metrics.at({"validation", "accuracy"}).count, 1);
  EXPECT_EQ(trial.trial.best_metric, 0.5);
}

TEST_F(ReportMetricsTest, UsesSearcherMetricOfSecondReport) {
  EXPECT_EQ(Validate(10, {{"accuracy", 0.25}}), absl::OkStatus());
  EXPECT_EQ(fake_.GetTrial(model::TrialId(1))->trial.best_metric, std::nullopt);
  EXPECT_EQ(Validate(10, {{"loss", 0.5}}), absl::OkStatus());
  EXPECT_EQ(best_, 1);
  const experiment::Trial trial = fake_.GetTrial(model::TrialId(1))->trial;
  EXPECT_EQ(trial.best_metric, 0.5);
  EXPECT_EQ(trial.best_steps, 10);
  EXPECT_EQ(ReadStored("validation", 10),
            (model::Value::Object{{"loss", 0.5}, {"accuracy", 0.25}}));
}

TEST_F(ReportMetricsTest, MergesValidationsOfOneRequest) {
  det::trial::v1::ReportMetricsRequest request;
  AddReport(request, "validation", 10, {{"accuracy", 0.25}});
  AddReport(request, "validation", 10, {{"loss", 0.5}});
  AddReport(request, "validation", 20, {{"loss", 0.75}});
  AddReport(request, "validation", 10, {{"top5", 0.125}});
  EXPECT_EQ(Send(request), absl::OkStatus());
  EXPECT_EQ(Send(request), absl::OkStatus()) << "a repeated request";
  EXPECT_EQ(ReadStored("validation", 10),
            (model::Value::Object{{"loss", 0.5}, {"accuracy", 0.25}, {"top5", 0.125}}));
  EXPECT_EQ(fake_.GetTrial(model::TrialId(1))->trial.best_steps, 10);
  EXPECT_THAT(ReadLog(), Not(HasSubstr("has no metric loss")));
}

TEST_F(ReportMetricsTest, RefusesValidationThatChangesValue) {
  EXPECT_EQ(Validate(10, {{"loss", 0.5}}), absl::OkStatus());
  det::trial::v1::ReportMetricsRequest request;
  AddReport(request, "validation", 10, {{"loss", 0.25}, {"accuracy", 0.75}});
  AddReport(request, "validation", 20, {{"loss", 0.375}});
  AddReport(request, "training", 20, {{"loss", 0.875}});
  const std::optional<absl::Status> refused = Send(request);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code(), absl::StatusCode::kInvalidArgument);
  for (const char* words : {"conflicting key: loss", "0.5", "0.25", "step 10"}) {
    EXPECT_THAT(std::string(refused->message()), HasSubstr(words));
  }
  EXPECT_EQ(ReadStored("validation", 10), (model::Value::Object{{"loss", 0.5}}));
  EXPECT_EQ(ReadStored("validation", 20), (model::Value::Object{{"loss", 0.375}}));
  EXPECT_EQ(ReadStored("training", 20), (model::Value::Object{{"loss", 0.875}}));
  EXPECT_EQ(fake_.GetTrial(model::TrialId(1))->trial.best_metric, 0.375);
}

TEST_F(ReportMetricsTest, StoresValidations_WhenTrainingMetricIsRefused) {
  EXPECT_EQ(Report({{"training", 10}}), absl::OkStatus());
  det::trial::v1::ReportMetricsRequest request;
  AddReport(request, "training", 10, {{"loss", 0.25}});
  AddReport(request, "validation", 10, {{"loss", 0.5}});
  const std::optional<absl::Status> refused = Send(request);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadStored("training", 10), (model::Value::Object{{"loss", 0.1}}));
  EXPECT_EQ(ReadStored("validation", 10), (model::Value::Object{{"loss", 0.5}}));
}

TEST_F(ReportMetricsTest, StoresMetricsOfBoth_WhenStepIsReportedTwiceAtOnce) {
  watch_.feed().Open(model::ExperimentId(1), "");
  const auto loss = Begin(10, {{"loss", 0.5}});
  const auto accuracy = Begin(10, {{"accuracy", 0.25}});
  const auto other_loss = Begin(10, {{"loss", 0.75}, {"top5", 0.125}});
  Settle();
  EXPECT_EQ(*loss, absl::OkStatus());
  EXPECT_EQ(*accuracy, absl::OkStatus());
  ASSERT_TRUE(*other_loss);
  EXPECT_EQ((*other_loss)->code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string((*other_loss)->message()), HasSubstr("conflicting key: loss"));
  EXPECT_EQ(ReadStored("validation", 10),
            (model::Value::Object{{"loss", 0.5}, {"accuracy", 0.25}}));
  EXPECT_EQ(CountPublished(), 2) << "each stored report once, and not the refused one";
}

TEST_F(ReportMetricsTest, NotifiesOfStoredReports_WhenAnotherIsRefused) {
  EXPECT_EQ(Report({{"training", 10}}), absl::OkStatus());
  store::WebhookRecord webhook;
  webhook.name = "a";
  constexpr auto kType = model::WebhookTrigger::kMetricThresholdExceeded;
  const auto condition =
      model::Value::FromJson(R"({"group":"training","metric":"loss","value":0.7})");
  webhook.triggers.push_back(
      {.id = 0, .type = kType, .condition = *webhooks::CheckCondition(kType, *condition)});
  const int32_t id = fake_.webhooks().AddWebhook(webhook)->id;
  triggers_.Changed();
  watch_.feed().Open(model::ExperimentId(1), "");

  det::trial::v1::ReportMetricsRequest request;
  request.set_trial_id(1);
  AddReport(request, "training", 10, {{"loss", 0.9}});
  AddReport(request, "training", 20, {{"loss", 0.8}});
  absl::Status result;
  absl::Notification ended;
  AddMetrics(engine_, store_, watch_, &triggers_, pool_, model::ExperimentId(1), allocation_,
             *ToReports(request, loop_.Now()), nullptr, [&](absl::Status status) {
               result = std::move(status);
               ended.Notify();
             });
  Settle();
  ended.WaitForNotification();
  EXPECT_EQ(result.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadStored("training", 20), (model::Value::Object{{"loss", 0.8}}));
  EXPECT_EQ(CountPublished(), 1);
  const std::vector<store::DeliveryRecord> raised = *fake_.webhooks().ListDeliveries(id, 10);
  ASSERT_THAT(raised, SizeIs(1));
  EXPECT_THAT(raised[0].data.Find("metric")->ToJson(), HasSubstr("\"steps_completed\":20"));
}

TEST_F(ReportMetricsTest, AcceptsRepeatedValidationWithNaN) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Validate(10, {{"loss", std::nan("")}, {"whole", 1}}), absl::OkStatus());
  }
  EXPECT_EQ(Validate(10, {{"accuracy", 0.5}}), absl::OkStatus());
  EXPECT_EQ(ReadStored("validation", 10).AsObject()->size(), 3u);
}

TEST_F(ReportMetricsTest, StoresNothing_WhenOneReportIsInvalid) {
  const size_t before = store_.commits().size();
  const auto result = Report({{"validation", 10}, {"validation", -1}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(store_.commits(), SizeIs(before));
}

}  // namespace
}  // namespace det::api
