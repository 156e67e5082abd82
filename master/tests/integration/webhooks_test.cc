// Webhooks in a whole master: signed delivery of events of experiments, and permissions.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "det/api/v1/webhook.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/auth/tokens.h"
#include "master/core/model/value.h"
#include "master/tests/testing/integration_fixture.h"
#include "master/webhooks/testing/receiver.h"

namespace det::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using enum grpc::StatusCode;

class WebhooksTest : public MasterIntegrationTest {
 protected:
  using Stub = api::WebhookService::Stub;

  template <class Method, class Request, class Response>
  grpc::Status Call(Method method, const Request& request, Response* response,
                    const std::string& token = "user") {
    CallContext context(token);
    return (hooks_.get()->*method)(&context, request, response);
  }
  static api::Webhook MakeWebhook(const std::string& name, const std::string& url, int workspace) {
    api::Webhook webhook;
    webhook.set_name(name);
    webhook.set_url(url);
    webhook.set_workspace_id(workspace);
    webhook.set_webhook_type(api::WEBHOOK_TYPE_DEFAULT);
    webhook.set_mode(api::WEBHOOK_MODE_WORKSPACE);
    return webhook;
  }
  static void Add(api::TriggerType type, const std::string& key, const std::string& text,
                  api::Webhook* webhook) {
    api::Trigger& trigger = *webhook->add_triggers();
    trigger.set_trigger_type(type);
    (*trigger.mutable_condition()->mutable_fields())[key].set_string_value(text);
  }
  static api::Webhook OnState(const std::string& url, std::vector<std::string> states) {
    api::Webhook webhook = MakeWebhook("states", url, 1);
    for (const std::string& state : states) {
      Add(api::TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE, "state", state, &webhook);
    }
    return webhook;
  }
  grpc::Status Make(const api::Webhook& webhook, int* id = nullptr,
                    const std::string& token = "user") {
    api::PostWebhookRequest request;
    *request.mutable_webhook() = webhook;
    api::PostWebhookResponse response;
    grpc::Status status = Call(&Stub::PostWebhook, request, &response, token);
    if (id != nullptr) *id = response.webhook().id();
    return status;
  }
  grpc::Status PostCustomEvent(int experiment, const std::string& token) {
    api::PostWebhookEventDataRequest request;
    request.set_experiment_id(experiment);
    request.set_trial_id(1);
    request.mutable_data()->set_title("look");
    request.mutable_data()->set_description("here");
    request.mutable_data()->set_level(api::LOG_LEVEL_WARNING);
    api::PostWebhookEventDataResponse response;
    return Call(&Stub::PostWebhookEventData, request, &response, token);
  }
  void AddUser(const std::string& name, model::Role role, int32_t workspace) {
    store::UserRecord user;
    user.username = name;
    const auto added = master_.store().users().AddUser(user, model::Role::kNone);
    ASSERT_TRUE(added.ok()) << added.status();
    ASSERT_TRUE(master_.store().access().AddRole({added->id, workspace, role}).ok());
    master_.AddSession(name, store::SessionRecord::Kind::kUser, added->id);
  }
  static model::Value Body(const webhooks::Received& received) {
    return model::Value::FromJson(received.body).value_or(model::Value());
  }

  std::unique_ptr<Stub> hooks_ = api::WebhookService::NewStub(master_.channel());
};

TEST_F(WebhooksTest, LimitsLogPatternsPerWorkspace) {
  const auto many = [&](const std::string& name, int workspace, int count) {
    api::Webhook webhook = MakeWebhook(name, "http://127.0.0.1:1/", workspace);
    for (int i = 0; i < count; ++i) Add(api::TRIGGER_TYPE_TASK_LOG, "regex", "oops", &webhook);
    return Make(webhook);
  };
  EXPECT_TRUE(many("a", 1, 60).ok());
  const grpc::Status refused = many("b", 1, 41);
  EXPECT_EQ(refused.error_code(), FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("101 log patterns; the limit is 100"));
  EXPECT_TRUE(many("b", 1, 40).ok());
  EXPECT_TRUE(many("of all", 0, 100).ok());
}

TEST_F(WebhooksTest, UnchangedTriggersKeepTheirIds) {
  int id = 0;
  ASSERT_TRUE(Make(OnState("http://127.0.0.1:1/", {"ERROR", "COMPLETED"}), &id).ok());
  const auto triggers = [&] {
    api::GetWebhookRequest request;
    request.set_id(id);
    api::GetWebhookResponse response;
    EXPECT_TRUE(Call(&Stub::GetWebhook, request, &response).ok());
    return response.webhook().triggers();
  };
  const auto patch = [&](const api::Webhook& webhook_message) {
    api::PatchWebhookRequest request;
    request.set_id(id);
    *request.mutable_webhook()->mutable_triggers() = webhook_message.triggers();
    api::PatchWebhookResponse response;
    return Call(&Stub::PatchWebhook, request, &response);
  };
  const auto before = triggers();
  api::Webhook webhook_message = OnState("", {"COMPLETED"});
  Add(api::TRIGGER_TYPE_TASK_LOG, "regex", "oops", &webhook_message);
  ASSERT_TRUE(patch(webhook_message).ok());
  const auto after = triggers();
  ASSERT_EQ(after.size(), 2);
  EXPECT_EQ(after[0].id(), before[1].id());
  EXPECT_EQ(after[1].trigger_type(), api::TRIGGER_TYPE_TASK_LOG);

  api::Webhook bad;
  Add(api::TRIGGER_TYPE_TASK_LOG, "regex", "(", &bad);
  EXPECT_EQ(patch(bad).error_code(), INVALID_ARGUMENT);
  for (int i = 0; i < 100; ++i) Add(api::TRIGGER_TYPE_TASK_LOG, "regex", "oops", &webhook_message);
  EXPECT_NE(patch(webhook_message).error_code(), OK);
  EXPECT_EQ(triggers().size(), 2) << "a rejected change must not be applied partially";
}

TEST_F(WebhooksTest, DeliversASignedStateChange) {
  webhooks::Receiver receiver;
  ASSERT_TRUE(Make(OnState(receiver.url(), {"STATE_ACTIVE", "CANCELED", "ERROR"})).ok());
  const int id = Create();
  ASSERT_TRUE(Kill(id).ok());
  std::vector<std::string> states;
  for (const webhooks::Received& each : receiver.Await(2)) {
    const std::string signature = auth::HmacSha256Hex(
        "key", each.Header("X-Determined-AI-Signature-Timestamp") + "," + each.body);
    EXPECT_EQ(each.Header("X-Determined-AI-Signature"), signature);
    const model::Value body = Body(each);
    EXPECT_EQ(body.Find("event_data")->Find("experiment")->Find("id")->ToJson(),
              std::to_string(id));
    states.push_back(body.Find("event_data")->Find("experiment")->Find("state")->ToJson());
  }
  EXPECT_THAT(states, UnorderedElementsAre("\"ACTIVE\"", "\"CANCELED\""));
}

TEST_F(WebhooksTest, DeliversLogAndMetricEvents) {
  webhooks::Receiver receiver;
  api::Webhook webhook_message = MakeWebhook("all", receiver.url(), 0);
  Add(api::TRIGGER_TYPE_TASK_LOG, "regex", "loss is nan", &webhook_message);
  Add(api::TRIGGER_TYPE_METRIC_THRESHOLD_EXCEEDED, "metric", "loss", &webhook_message);
  auto& fields = *webhook_message.mutable_triggers(1)->mutable_condition()->mutable_fields();
  fields["op"].set_string_value("<");
  fields["value"].set_number_value(0.5);
  int webhook = 0;
  ASSERT_TRUE(Make(webhook_message, &webhook).ok());

  FakeAgent agent(master_, "a1", 1);
  int id = 0;
  const std::string allocation = Run(agent, &id);
  agent.Log(allocation, 1, "step 2: loss is nan");
  agent.Log(allocation, 2, "loss is nan");
  trial::ReportMetricsRequest request;
  request.set_allocation_id(allocation);
  request.set_trial_id(Get(id).trial_ids(0));
  for (const char* group : {"training", "validation"}) {
    auto* report = request.add_reports();
    report->set_group(group);
    report->set_steps_completed(5);
    (*report->mutable_metrics()->mutable_fields())["loss"].set_number_value(0.25);
  }
  for (int i = 0; i < 2; ++i) {
    CallContext context(token_);
    trial::ReportMetricsResponse response;
    ASSERT_TRUE(runtime_->ReportMetrics(&context, request, &response).ok());
  }
  std::vector<std::string> bodies;
  for (const webhooks::Received& each : receiver.Await(2)) {
    model::Value::Object data = *Body(each).Find("event_data")->AsObject();
    data.erase("experiment");
    bodies.push_back(model::Value(data).ToJson());
  }
  EXPECT_THAT(bodies, UnorderedElementsAre(
                          HasSubstr("step 2: loss is nan"),
                          HasSubstr(R"("group":"validation","name":"loss","steps_completed":5)")));
  api::GetWebhookDeliveriesRequest deliveries_request;
  deliveries_request.set_id(webhook);
  api::GetWebhookDeliveriesResponse shown;
  EXPECT_TRUE(Call(&Stub::GetWebhookDeliveries, deliveries_request, &shown).ok());
  EXPECT_EQ(shown.deliveries_size(), 2) << "each once";
}

TEST_F(WebhooksTest, DeliversCustomEventToWebhookThatExperimentNames) {
  webhooks::Receiver receiver;
  api::Webhook webhook = MakeWebhook("", receiver.url(), 0);
  Add(api::TRIGGER_TYPE_CUSTOM, "any", "", &webhook);
  EXPECT_EQ(Make(webhook).error_code(), INVALID_ARGUMENT) << "of the mode WORKSPACE";
  webhook.set_mode(api::WEBHOOK_MODE_SPECIFIC);
  int hook = 0;
  ASSERT_TRUE(Make(webhook, &hook).ok());
  const std::string config =
      absl::StrCat(kConfig, "integrations: {webhooks: {webhook_id: [", hook, "]}}\n");
  FakeAgent agent(master_, "a1", 1);
  int id = 0;
  Run(agent, &id, config);
  EXPECT_TRUE(PostCustomEvent(id, token_).ok());
  EXPECT_EQ(PostCustomEvent(id + 1, token_).error_code(), PERMISSION_DENIED);
  const model::Value data = *Body(receiver.Await(1).front()).Find("event_data");
  EXPECT_EQ(data.Find("custom_data")->ToJson(),
            R"({"description":"here","level":"WARNING","title":"look"})");
  EXPECT_EQ(data.Find("experiment")->Find("trial_id")->ToJson(), "1");
}

TEST_F(WebhooksTest, WarnsOfUrlWithForbiddenAddress) {
  api::PostWebhookRequest request;
  *request.mutable_webhook() = OnState("http://10.0.0.7/hook", {"ERROR"});
  api::PostWebhookResponse response;
  ASSERT_TRUE(Call(&Stub::PostWebhook, request, &response).ok());
  ASSERT_EQ(response.warnings_size(), 1);
  EXPECT_THAT(response.warnings(0), HasSubstr("10.0.0.7 is private or reserved"));
  api::PatchWebhookRequest patch;
  patch.set_id(response.webhook().id());
  api::PatchWebhookResponse patched;
  for (const auto& [url, warnings] :
       {std::pair("http://192.168.0.1/", 1), std::pair("https://example.org", 0)}) {
    patch.mutable_webhook()->set_url(url);
    ASSERT_TRUE(Call(&Stub::PatchWebhook, patch, &patched).ok());
    EXPECT_EQ(patched.warnings_size(), warnings) << url;
  }
}

TEST_F(WebhooksTest, SendsATestEvent) {
  webhooks::Receiver receiver({"200 OK", "500 No"});
  int id = 0;
  ASSERT_TRUE(Make(OnState(receiver.url(), {"ERROR"}), &id).ok());
  api::TestWebhookRequest request;
  request.set_id(id);
  api::TestWebhookResponse response;
  EXPECT_TRUE(Call(&Stub::TestWebhook, request, &response).ok());
  EXPECT_TRUE(response.completed());
  const grpc::Status failed = Call(&Stub::TestWebhook, request, &response);
  EXPECT_EQ(failed.error_code(), FAILED_PRECONDITION);
  EXPECT_THAT(failed.error_message(), HasSubstr("the receiver responded with 500"));
}

TEST_F(WebhooksTest, ReportsInvalidFields) {
  const auto refusal = [&](api::Webhook webhook) { return Make(webhook).error_message(); };
  const api::Webhook good = OnState("https://example.org", {"ERROR"});
  ASSERT_TRUE(Make(good).ok());
  ASSERT_TRUE(Make(good).ok()) << "names need not be unique";
  api::Webhook unset = good;
  unset.clear_mode();
  unset.clear_name();
  EXPECT_TRUE(Make(unset).ok());
  api::Webhook bad = good;
  bad.set_url("ftp://example.org");
  EXPECT_THAT(refusal(bad), HasSubstr("neither http nor https"));
  bad = good;
  bad.clear_triggers();
  EXPECT_THAT(refusal(bad), HasSubstr("triggers: expected 1 to"));
  EXPECT_THAT(refusal(OnState("https://example.org", {"QUEUED"})), HasSubstr("expected state"));
  bad = good;
  bad.clear_webhook_type();
  EXPECT_THAT(refusal(bad), HasSubstr("webhook_type: expected"));
  bad = good;
  bad.set_workspace_id(99);
  EXPECT_EQ(Make(bad).error_code(), NOT_FOUND);
}

TEST_F(WebhooksTest, EditorsReadAndAdministratorsChangeWebhooks) {
  AddUser("viewer", model::Role::kViewer, 1);
  AddUser("editor", model::Role::kEditor, 1);
  AddUser("chief", model::Role::kWorkspaceAdmin, 1);
  AddUser("far", model::Role::kWorkspaceAdmin, 0);
  const api::Webhook own = OnState("https://example.org/secret", {"ERROR"});
  EXPECT_EQ(Make(own, nullptr, "editor").error_code(), PERMISSION_DENIED);
  int id = 0;
  ASSERT_TRUE(Make(own, &id, "chief").ok());
  api::Webhook all = own;
  all.set_workspace_id(0);
  EXPECT_EQ(Make(all, nullptr, "chief").error_code(), PERMISSION_DENIED);
  EXPECT_EQ(Make(all, nullptr, "far").error_code(), PERMISSION_DENIED);
  int global = 0;
  ASSERT_TRUE(Make(all, &global).ok());

  const auto listed = [&](const std::string& token) {
    api::GetWebhooksResponse response;
    EXPECT_TRUE(Call(&Stub::GetWebhooks, api::GetWebhooksRequest(), &response, token).ok());
    std::vector<int> ids;
    for (const auto& each : response.webhooks()) ids.push_back(each.id());
    return ids;
  };
  EXPECT_THAT(listed("editor"), ElementsAre(id));
  EXPECT_THAT(listed("far"), ElementsAre(id, global));
  EXPECT_THAT(listed("user"), ElementsAre(id, global));

  const auto get = [&](int which, const std::string& token) {
    api::GetWebhookRequest request;
    request.set_id(which);
    api::GetWebhookResponse response;
    return Call(&Stub::GetWebhook, request, &response, token).error_code();
  };
  EXPECT_EQ(get(id, "viewer"), PERMISSION_DENIED);
  EXPECT_EQ(get(id, "editor"), OK);
  EXPECT_EQ(get(global, "editor"), NOT_FOUND);
  EXPECT_EQ(get(99, "user"), NOT_FOUND);

  const auto patch = [&](int which, const std::string& token) {
    api::PatchWebhookRequest request;
    request.set_id(which);
    request.mutable_webhook()->set_url("https://elsewhere.org");
    api::PatchWebhookResponse response;
    return Call(&Stub::PatchWebhook, request, &response, token).error_code();
  };
  EXPECT_EQ(patch(id, "editor"), PERMISSION_DENIED);
  EXPECT_EQ(patch(id, "chief"), OK);
  EXPECT_EQ(patch(global, "far"), PERMISSION_DENIED);
  const auto drop = [&](int which, const std::string& token) {
    api::DeleteWebhookRequest request;
    request.set_id(which);
    api::DeleteWebhookResponse response;
    return Call(&Stub::DeleteWebhook, request, &response, token).error_code();
  };
  EXPECT_EQ(drop(global, "far"), PERMISSION_DENIED);
  EXPECT_EQ(drop(id, "chief"), OK);
  EXPECT_EQ(drop(global, "user"), OK);
  EXPECT_THAT(listed("user"), IsEmpty());
}

}  // namespace
}  // namespace det::tests
