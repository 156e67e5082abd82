// Matching of metrics and log lines against triggers.
#include "master/webhooks/trigger_watch.h"

#include "base/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/store/testing/fake_store.h"
#include "master/store/testing/make_rows.h"
#include "master/webhooks/conditions.h"
#include "master/webhooks/pattern_set.h"

namespace det::webhooks {
namespace {

using model::Value;
using model::WebhookTrigger;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Value Json(const std::string& text) { return *Value::FromJson(text); }

class TriggerWatchTest : public testing::Test {
 protected:
  TriggerWatchTest() {
    EXPECT_TRUE(store_.Load().ok());
    EXPECT_TRUE(store_
                    .Commit(1, {cluster::PutExperiment{store::MakeExperiment(1)},
                                cluster::PutTrial{store::MakeTrial(3, 1)}})
                    .ok());
  }
  void Webhook(WebhookTrigger type, const std::string& condition) {
    store::WebhookRecord webhook;
    webhook.name.push_back('a');
    webhook.triggers.push_back(
        {.id = 0, .type = type, .condition = *CheckCondition(type, Json(condition))});
    const auto added = store_.webhooks().AddWebhook(webhook);
    ASSERT_TRUE(added.ok()) << added.status();
    id_ = added->id;
    watch_.Changed();
  }
  std::vector<store::DeliveryRecord> Deliveries() {
    return *store_.webhooks().ListDeliveries(id_, 100);
  }

  store::FakeStore store_;
  base::FakeClock clock_;
  int raised_ = 0;
  int32_t id_ = 0;
  TriggerWatch watch_{&store_, &clock_, [this] { ++raised_; }};
};

TEST_F(TriggerWatchTest, FiresOncePerTrialOnMetrics) {
  EXPECT_TRUE(watch_.Check({store::MakeReport(3, "validation", 10, 1.0)}).ok());
  Webhook(WebhookTrigger::kMetricThresholdExceeded, R"({"metric":"accuracy","value":0.9})");
  EXPECT_TRUE(watch_
                  .Check({store::MakeReport(3, "validation", 20, 0.9),
                          store::MakeReport(3, "training", 20, 1.0)})
                  .ok());
  EXPECT_EQ(raised_, 0);
  EXPECT_TRUE(watch_.Check({store::MakeReport(3, "validation", 30, 0.95)}).ok());
  EXPECT_TRUE(watch_.Check({store::MakeReport(3, "validation", 40, 0.97)}).ok());
  watch_.Changed();  // as after a restart
  EXPECT_TRUE(watch_.Check({store::MakeReport(3, "validation", 30, 0.95)}).ok());
  EXPECT_EQ(raised_, 1);
  ASSERT_THAT(Deliveries(), SizeIs(1));
  const store::DeliveryRecord row = Deliveries().front();
  EXPECT_EQ(row.condition.ToJson(),
            R"({"group":"validation","metric":"accuracy","op":">","value":0.9})");
  EXPECT_EQ(row.data.Find("metric")->ToJson(),
            R"({"group":"validation","name":"accuracy","steps_completed":30,)"
            R"("trial_id":3,"value":0.95})");
  EXPECT_EQ(row.data.Find("experiment")->Find("name")->ToJson(), "\"experiment 1\"");
}

// A line is matched only against the patterns of its own workspace.
TEST_F(TriggerWatchTest, MatchesOnlyPatternsOfWorkspace) {
  store::WorkspaceRecord other;
  other.name = "other";
  const int32_t elsewhere = store_.workspaces().AddWorkspace(other)->id;
  const auto add = [&](const char* name, int32_t workspace) {
    store::WebhookRecord webhook;
    webhook.name = name;
    webhook.workspace = workspace;
    webhook.triggers.push_back(
        {.id = 0, .type = WebhookTrigger::kTaskLog, .condition = Value::Object{{"regex", "oops"}}});
    return store_.webhooks().AddWebhook(webhook)->id;
  };
  const int32_t theirs = add("theirs", elsewhere);
  const int32_t own = add("own", store::kUncategorized);
  const int32_t all = add("all", 0);
  watch_.Changed();
  EXPECT_TRUE(watch_.Check({store::MakeLine("1.3", 1, "oops")}).ok());
  EXPECT_EQ(raised_, 2);
  EXPECT_THAT(*store_.webhooks().ListDeliveries(theirs, 10), SizeIs(0));
  EXPECT_THAT(*store_.webhooks().ListDeliveries(own, 10), SizeIs(1));
  EXPECT_THAT(*store_.webhooks().ListDeliveries(all, 10), SizeIs(1));
}

TEST(PatternSetTest, FindsAllThatMatch) {
  PatternSet set;
  set.Add(1, "out of (memory|space)");
  set.Add(2, "(");
  set.Add(3, "memory$");
  set.Add(4, "disk");
  set.Compile();
  EXPECT_THAT(set.Match("out of memory"), ::testing::ElementsAre(1, 3));
  EXPECT_THAT(set.Match("nothing"), ::testing::IsEmpty());
}

// The patterns exceed the memory of the set, so each is matched alone.
TEST(PatternSetTest, MatchesOneByOne_WhenSetIsTooLarge) {
  PatternSet set;
  for (int i = 0; i < 60; ++i) {
    set.Add(i, "(a|b|c)*" + std::to_string(i) + "[a-z]{200}(x|y)*z{1,100}" + std::to_string(i));
  }
  set.Compile();
  EXPECT_THAT(set.Match("ab7" + std::string(200, 'q') + "z7"), ::testing::ElementsAre(7));
}

TEST_F(TriggerWatchTest, FiresOncePerTrialOnLogLines) {
  Webhook(WebhookTrigger::kTaskLog, R"({"regex":"o{2,}ps"})");
  EXPECT_TRUE(watch_.Check({store::MakeLine("1.3", 1, "ops")}).ok());
  EXPECT_EQ(raised_, 0);
  EXPECT_TRUE(
      watch_.Check({store::MakeLine("1.3", 2, "an oops"), store::MakeLine("1.3", 3, "oops")}).ok());
  EXPECT_EQ(raised_, 1);
  EXPECT_EQ(Deliveries().front().data.Find("task_log")->ToJson(),
            R"({"node_name":"agent-0","task_id":"1.3","trial_id":3,"triggering_log":"an oops"})");
  EXPECT_TRUE(watch_.Check({store::MakeLine("9.9", 1, "oops of a missing trial")}).ok());
  EXPECT_EQ(raised_, 1);
}

TEST_F(TriggerWatchTest, FiresOnLogLineWithoutAllocation) {
  Webhook(WebhookTrigger::kTaskLog, R"({"regex":"oops"})");
  model::LogLine line = store::MakeLine("1.3", 0, "oops");
  line.allocation = {};
  EXPECT_TRUE(watch_.Check({line}).ok());
  ASSERT_EQ(raised_, 1);
  EXPECT_EQ(Deliveries().front().data.Find("task_log")->Find("task_id")->ToJson(), R"("1.3")");
}

TEST_F(TriggerWatchTest, FiresForTheTask_WhenAllocationIsOfAnotherTrial) {
  Webhook(WebhookTrigger::kTaskLog, R"({"regex":"oops"})");
  model::LogLine line = store::MakeLine("9.9", 0, "oops");
  line.allocation = model::AllocationId("1.3.0");
  EXPECT_TRUE(watch_.Check({line}).ok());
  EXPECT_EQ(raised_, 0);
}

TEST_F(TriggerWatchTest, RaisesEveryCustomEvent) {
  Webhook(WebhookTrigger::kCustom, "{}");
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(
        watch_.RaiseCustom(model::ExperimentId(1), model::TrialId(3), {{"custom_data", "x"}}).ok());
  }
  ASSERT_THAT(Deliveries(), SizeIs(2));
  const Value data = Deliveries().front().data;
  EXPECT_EQ(data.Find("custom_data")->ToJson(), R"("x")");
  EXPECT_EQ(data.Find("experiment")->Find("trial_id")->ToJson(), "3");
  EXPECT_TRUE(watch_.RaiseCustom(model::ExperimentId(1), std::nullopt, {}).ok());
  EXPECT_EQ(Deliveries().front().data.Find("experiment")->Find("trial_id"), nullptr);
  EXPECT_TRUE(absl::IsNotFound(watch_.RaiseCustom(model::ExperimentId(9), std::nullopt, {})));
}

TEST(Conditions, DescribesRequiredFields) {
  const auto check = [](WebhookTrigger type, const char* condition) {
    const auto checked = CheckCondition(type, Json(condition));
    return checked.ok() ? checked->ToJson() : std::string(checked.status().message());
  };
  using enum WebhookTrigger;
  EXPECT_EQ(check(kExperimentStateChange, R"({"state":"STATE_ERROR","x":1})"),
            R"({"state":"ERROR"})");
  for (const char* bad : {"{}", R"({"state":"QUEUED"})", R"({"state":"STOPPING_ERROR"})", "[]"}) {
    EXPECT_THAT(check(kExperimentStateChange, bad), HasSubstr("expected state: ACTIVE"));
  }
  EXPECT_EQ(check(kMetricThresholdExceeded,
                  R"({"metric":"loss","op":"<=","value":1,"group":"training"})"),
            R"({"group":"training","metric":"loss","op":"<=","value":1.0})");
  EXPECT_EQ(check(kMetricThresholdExceeded, R"({"metric":"loss","threshold":2})"),
            R"({"group":"validation","metric":"loss","op":">","threshold":2.0,"value":2.0})");
  for (const char* bad : {"{}", R"({"metric":"loss"})", R"({"metric":"loss","value":"1"})",
                          R"({"metric":"loss","value":1,"op":"="})", R"({"value":1})"}) {
    EXPECT_THAT(check(kMetricThresholdExceeded, bad), HasSubstr("expected metric")) << bad;
  }
  EXPECT_EQ(check(kTaskLog, R"({"regex":"a+"})"), R"({"regex":"a+"})");
  EXPECT_THAT(check(kTaskLog, R"({"regex":"(a"})"), HasSubstr("regex: missing )"));
  EXPECT_THAT(check(kTaskLog, "{}"), HasSubstr("expected regex"));
  EXPECT_EQ(check(kCustom, R"({"a":1})"), "{}");
}

TEST(Conditions, EvaluatesMetrics) {
  struct Case {
    const char* op;
    double metric;
    bool holds;
  };
  for (const Case& each :
       {Case{">", 2, true}, Case{">", 1, false}, Case{">=", 1, true}, Case{"<", 0.5, true},
        Case{"<", 1, false}, Case{"<=", 1, true}, Case{"<=", 1.5, false}}) {
    const Value condition = Value::Object{
        {"metric", "accuracy"}, {"group", "validation"}, {"op", each.op}, {"value", 1.0}};
    const auto report = store::MakeReport(1, "validation", 1, each.metric);
    EXPECT_EQ(FindExceedingValue(condition, report).has_value(), each.holds)
        << each.op << each.metric;
  }
}

}  // namespace
}  // namespace det::webhooks
