// Webhooks, their deliveries, and configuration policies: a part of the contract suite in
// store_contract.h.
#include <memory>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "master/store/testing/make_rows.h"
#include "master/store/testing/store_contract.h"

namespace det::store {
namespace {

using model::WebhookTrigger;
using State = DeliveryRecord::State;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

WebhookRecord MakeWebhook(const std::string& name, int32_t workspace, const std::string& state) {
  WebhookRecord webhook;
  webhook.name = name;
  webhook.workspace = workspace;
  webhook.url = "https://example.org/" + name;
  webhook.triggers.push_back({.id = 0,
                              .type = WebhookTrigger::kExperimentStateChange,
                              .condition = model::Value::Object{{"state", state}}});
  return webhook;
}

model::WebhookEvent Entered(int experiment, const std::string& state) {
  model::WebhookEvent event;
  event.trigger = WebhookTrigger::kExperimentStateChange;
  event.experiment = model::ExperimentId(experiment);
  event.state = state;
  event.data = model::Value::Object{{"experiment", model::Value::Object{{"id", experiment}}}};
  event.at = TimeAt(7);
  return event;
}

cluster::PutExperiment With(int id, const model::WebhooksConfig& webhooks) {
  cluster::PutExperiment put{MakeExperiment(id)};
  model::ExperimentConfig config = *put.experiment.config;
  config.integrations.webhooks = webhooks;
  put.experiment.config = std::make_shared<const model::ExperimentConfig>(std::move(config));
  return put;
}

TEST_P(StoreContractTest, StoresWebhooks) {
  Webhooks& webhooks = store_->webhooks();
  EXPECT_THAT(*webhooks.ListWebhooks(), IsEmpty());
  WebhookRecord requested = MakeWebhook("done", 1, "COMPLETED");
  requested.type = WebhookType::kSlack;
  requested.mode = WebhookMode::kSpecific;
  requested.triggers.push_back({.id = 0,
                                .type = WebhookTrigger::kTaskLog,
                                .condition = model::Value::Object{{"regex", "oo\"ps.*"}}});
  const auto made = webhooks.AddWebhook(requested);
  ASSERT_TRUE(made.ok()) << made.status();
  requested.id = made->id;
  ASSERT_THAT(made->triggers, SizeIs(2));
  EXPECT_LT(made->triggers[0].id, made->triggers[1].id);
  for (size_t i = 0; i < 2; ++i) requested.triggers[i].id = made->triggers[i].id;
  EXPECT_EQ(*made, requested);
  EXPECT_TRUE(absl::IsNotFound(webhooks.AddWebhook(MakeWebhook("a", 99, "ERROR")).status()));
  const auto global = webhooks.AddWebhook(MakeWebhook("done", 0, "ERROR"));
  ASSERT_TRUE(global.ok()) << global.status();
  EXPECT_THAT(*backend_->Open()->webhooks().ListWebhooks(), ElementsAre(*made, *global));

  requested.url = "http://elsewhere";
  EXPECT_EQ(*webhooks.ChangeWebhook(made->id, {.name = {}, .url = requested.url}), requested);
  EXPECT_TRUE(absl::IsNotFound(webhooks.ChangeWebhook(99, {}).status()));
  EXPECT_EQ(*webhooks.GetWebhook(made->id), requested);

  // The second trigger stays and keeps its ID, the first one is deleted, and another one is added.
  WebhookPatch patch;
  patch.triggers = {requested.triggers[1], {.id = 0, .type = WebhookTrigger::kCustom}};
  const auto changed = webhooks.ChangeWebhook(made->id, patch);
  ASSERT_TRUE(changed.ok()) << changed.status();
  ASSERT_THAT(changed->triggers, SizeIs(2));
  EXPECT_EQ(changed->triggers[0], requested.triggers[1]);
  EXPECT_EQ(changed->triggers[1].type, WebhookTrigger::kCustom);
  EXPECT_GT(changed->triggers[1].id, changed->triggers[0].id);
  EXPECT_EQ(*webhooks.GetWebhook(made->id), *changed);
  EXPECT_EQ(*webhooks.GetWebhook(global->id), *global)
      << "triggers of another webhook were deleted, too";

  // A client that read the webhook before that change still keeps the first trigger.
  patch.triggers = requested.triggers;
  const auto late = webhooks.ChangeWebhook(made->id, patch);
  ASSERT_TRUE(late.ok()) << late.status();
  ASSERT_THAT(late->triggers, SizeIs(2));
  EXPECT_EQ(late->triggers[0], requested.triggers[1]);
  EXPECT_EQ(late->triggers[1].condition, requested.triggers[0].condition);
  EXPECT_TRUE(webhooks.DeleteWebhook(made->id).ok());
  EXPECT_TRUE(absl::IsNotFound(webhooks.DeleteWebhook(made->id)));
  EXPECT_TRUE(absl::IsNotFound(webhooks.GetWebhook(made->id).status()));
}

TEST_P(StoreContractTest, StoresWebhooksWithEqualOrEmptyNames) {
  Webhooks& webhooks = store_->webhooks();
  const int32_t first = webhooks.AddWebhook(MakeWebhook("done", 1, "ERROR"))->id;
  const auto second = webhooks.AddWebhook(MakeWebhook("done", 1, "ERROR"));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE(second->id, first);
  for (const int32_t id : {first, second->id}) {
    const auto changed = webhooks.ChangeWebhook(id, {.name = "", .url = {}});
    ASSERT_TRUE(changed.ok()) << changed.status();
    EXPECT_EQ(changed->name, "");
  }
  EXPECT_THAT(*webhooks.ListWebhooks(), SizeIs(2));
}

TEST_P(StoreContractTest, DeletesWebhookWithWorkspace) {
  const auto made =
      store_->workspaces().AddWorkspace({.name = "vision", .owner = model::UserId(1)});
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_TRUE(store_->webhooks().AddWebhook(MakeWebhook("a", made->id, "ERROR")).ok());
  ASSERT_TRUE(store_->config_policies().PutPolicies(made->id, "NTSC", model::Value::Object{}).ok());
  EXPECT_TRUE(store_->workspaces().DeleteWorkspace(made->id).ok());
  EXPECT_THAT(*store_->webhooks().ListWebhooks(), IsEmpty());
  EXPECT_TRUE(store_->config_policies().GetPolicies(made->id, "NTSC")->is_null());
}

TEST_P(StoreContractTest, CreatesDeliveriesWithStateChange) {
  Webhooks& webhooks = store_->webhooks();
  const int32_t done = webhooks.AddWebhook(MakeWebhook("done", 1, "COMPLETED"))->id;
  const int32_t all = webhooks.AddWebhook(MakeWebhook("all", 0, "COMPLETED"))->id;
  ASSERT_TRUE(webhooks.AddWebhook(MakeWebhook("error", 0, "ERROR")).ok());
  EXPECT_FALSE(webhooks.GetNextDelivery({})->has_value());
  const model::WebhookEvent event = Entered(1, "COMPLETED");
  Commit({cluster::PutExperiment{MakeExperiment(1)}, cluster::RaiseWebhooks{event}});

  const auto found = webhooks.ListDeliveries(done, 10);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_THAT(*found, SizeIs(1));
  const DeliveryRecord& row = found->front();
  EXPECT_EQ(row.trigger, WebhookTrigger::kExperimentStateChange);
  EXPECT_EQ(row.condition.ToJson(), R"({"state":"COMPLETED"})");
  EXPECT_EQ(row.data, event.data);
  EXPECT_EQ(row.raised_at, TimeAt(7));
  EXPECT_EQ(row.next_at, TimeAt(7));
  EXPECT_EQ(row.state, State::kPending);
  EXPECT_EQ(row.attempts, 0);
  EXPECT_FALSE(row.event_id.empty());
  EXPECT_THAT(*webhooks.ListDeliveries(all, 10), SizeIs(1));
  EXPECT_EQ((*webhooks.GetNextDelivery({all}))->webhook, done);
  EXPECT_FALSE(webhooks.GetNextDelivery({all, done})->has_value());
  EXPECT_EQ(**backend_->Open()->webhooks().GetNextDelivery({all}), row);
}

TEST_P(StoreContractTest, RaisesOnlyReferencedWebhooks) {
  Webhooks& webhooks = store_->webhooks();
  WebhookRecord specific = MakeWebhook("one", 1, "ERROR");
  specific.mode = WebhookMode::kSpecific;
  const int32_t one = webhooks.AddWebhook(specific)->id;
  specific.name = "two";
  const int32_t two = webhooks.AddWebhook(specific)->id;
  const int32_t any = webhooks.AddWebhook(MakeWebhook("any", 1, "ERROR"))->id;
  const int32_t vision =
      store_->workspaces().AddWorkspace({.name = "vision", .owner = model::UserId(1)})->id;
  const int32_t elsewhere = webhooks.AddWebhook(MakeWebhook("far", vision, "ERROR"))->id;

  Commit({With(1, {}), With(2, {.ids = {one}, .names = {"two"}}),
          With(3, {.ids = {one}, .names = {}, .exclude = true})});
  for (const int id : {1, 2, 3}) {
    const auto made = webhooks.Raise(Entered(id, "ERROR"));
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(*made, id == 1 ? 1 : id == 2 ? 3 : 0);
  }
  EXPECT_EQ(*webhooks.Raise(Entered(9, "ERROR")), 0) << "the experiment does not exist";
  EXPECT_THAT(*webhooks.ListDeliveries(one, 10), SizeIs(1));
  EXPECT_THAT(*webhooks.ListDeliveries(two, 10), SizeIs(1));
  EXPECT_THAT(*webhooks.ListDeliveries(any, 10), SizeIs(2));
  EXPECT_THAT(*webhooks.ListDeliveries(any, 10, 1), SizeIs(1));
  EXPECT_EQ(*webhooks.CountDeliveries(any), 2);
  EXPECT_THAT(*webhooks.ListDeliveries(elsewhere, 10), IsEmpty());
}

TEST_P(StoreContractTest, RaisesOncePerTrial) {
  WebhookRecord webhook = MakeWebhook("logs", 1, "ERROR");
  webhook.triggers = {{.id = 0, .type = WebhookTrigger::kTaskLog, .condition = {}},
                      {.id = 0, .type = WebhookTrigger::kTaskLog, .condition = {}}};
  const WebhookRecord made = *store_->webhooks().AddWebhook(webhook);
  Commit({cluster::PutExperiment{MakeExperiment(1)}});
  model::WebhookEvent event = Entered(1, "");
  event.trigger = WebhookTrigger::kTaskLog;
  event.once_for = model::TrialId(3);
  event.only_trigger = made.triggers[1].id;
  EXPECT_EQ(*store_->webhooks().Raise(event), 1);
  EXPECT_EQ(*store_->webhooks().Raise(event), 0);
  event.once_for = model::TrialId(4);
  EXPECT_EQ(*store_->webhooks().Raise(event), 1);
  event.only_trigger = made.triggers[0].id;
  EXPECT_EQ(*store_->webhooks().Raise(event), 1);
}

TEST_P(StoreContractTest, RecordsAttempts) {
  Webhooks& webhooks = store_->webhooks();
  const int32_t id = webhooks.AddWebhook(MakeWebhook("a", 0, "ERROR"))->id;
  Commit({cluster::PutExperiment{MakeExperiment(1)}});
  EXPECT_EQ(*webhooks.Raise(Entered(1, "ERROR")), 1);
  EXPECT_EQ(*webhooks.Raise(Entered(1, "ERROR")), 1);
  const int64_t first = (*webhooks.GetNextDelivery({}))->id;
  ASSERT_TRUE(
      webhooks
          .RecordAttempt(
              first,
              {.state = State::kPending, .at = TimeAt(8), .next_at = TimeAt(20), .error = "503"})
          .ok());
  const DeliveryRecord second = **webhooks.GetNextDelivery({});
  EXPECT_GT(second.id, first);
  EXPECT_TRUE(
      webhooks
          .RecordAttempt(second.id,
                         {.state = State::kDelivered, .at = TimeAt(9), .next_at = {}, .error = ""})
          .ok());
  const DeliveryRecord again = **webhooks.GetNextDelivery({});
  EXPECT_EQ(again.id, first);
  EXPECT_EQ(again.attempts, 1);
  EXPECT_EQ(again.error, "503");
  EXPECT_EQ(again.next_at, TimeAt(20));

  EXPECT_TRUE(webhooks.DropDeliveries(TimeAt(9)).ok());
  EXPECT_THAT(*webhooks.ListDeliveries(id, 10), SizeIs(2));
  EXPECT_THAT(*webhooks.ListDeliveries(id, 1), SizeIs(1));
  EXPECT_TRUE(webhooks.DropDeliveries(TimeAt(9.5)).ok());
  EXPECT_THAT(*webhooks.ListDeliveries(id, 10), ElementsAre(again)) << "pending deliveries stay";
  EXPECT_TRUE(webhooks.RecordAttempt(second.id, {}).ok()) << "deleted meanwhile";
  EXPECT_TRUE(webhooks.DeleteWebhook(id).ok());
  EXPECT_FALSE(webhooks.GetNextDelivery({})->has_value());
}

TEST_P(StoreContractTest, StoresPolicies) {
  ConfigPolicies& policies = store_->config_policies();
  EXPECT_TRUE(policies.GetPolicies(0, "EXPERIMENT")->is_null());
  const model::Value one = model::Value::Object{{"constraints", model::Value::Object{}}};
  const model::Value two = model::Value::Object{{"invariant_config", model::Value::Object{}}};
  EXPECT_TRUE(policies.PutPolicies(0, "EXPERIMENT", one).ok());
  EXPECT_TRUE(policies.PutPolicies(1, "EXPERIMENT", one).ok());
  EXPECT_TRUE(policies.PutPolicies(1, "EXPERIMENT", two).ok());
  EXPECT_TRUE(absl::IsNotFound(policies.PutPolicies(99, "EXPERIMENT", two)));
  EXPECT_EQ(*backend_->Open()->config_policies().GetPolicies(0, "EXPERIMENT"), one);
  EXPECT_EQ(*policies.GetPolicies(1, "EXPERIMENT"), two);
  EXPECT_TRUE(policies.GetPolicies(1, "NTSC")->is_null());
  EXPECT_TRUE(policies.DeletePolicies(1, "EXPERIMENT").ok());
  EXPECT_TRUE(policies.DeletePolicies(1, "EXPERIMENT").ok());
  EXPECT_TRUE(policies.GetPolicies(1, "EXPERIMENT")->is_null());
  EXPECT_FALSE(policies.GetPolicies(0, "EXPERIMENT")->is_null());
}

}  // namespace
}  // namespace det::store
