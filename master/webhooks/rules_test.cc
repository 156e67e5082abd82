// Allowed addresses, retry times and payloads of deliveries.
#include <arpa/inet.h>

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/webhooks/address_rules.h"
#include "master/webhooks/payload.h"
#include "master/webhooks/post.h"
#include "master/webhooks/retry_policy.h"

namespace det::webhooks {
namespace {

using model::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Address At(const std::string& text) {
  Address address = {};
  if (text.find(':') != text.npos) {
    EXPECT_EQ(::inet_pton(AF_INET6, text.c_str(), address.data()), 1) << text;
    return address;
  }
  address[10] = address[11] = 0xff;
  EXPECT_EQ(::inet_pton(AF_INET, text.c_str(), &address[12]), 1) << text;
  return address;
}

TEST(Addresses, RejectsNonPublicAddresses) {
  for (const char* text : {"127.0.0.1",
                           "127.9.9.9",
                           "0.0.0.0",
                           "10.1.2.3",
                           "172.16.0.1",
                           "172.31.255.255",
                           "192.168.1.1",
                           "100.64.0.1",
                           "169.254.169.254",
                           "192.0.0.192",
                           "198.18.0.1",
                           "224.0.0.1",
                           "239.255.255.250",
                           "240.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "::ffff:127.0.0.1",
                           "::ffff:10.0.0.1",
                           "::ffff:169.254.169.254",
                           "::127.0.0.1",
                           "fe80::1",
                           "fec0::1",
                           "fc00::1",
                           "fd00:ec2::254",
                           "ff02::1",
                           "64:ff9b::7f00:1",
                           "64:ff9b::a9fe:a9fe",
                           "64:ff9b:1::1",
                           "2002:7f00:1::",
                           "2002:c0a8:101::",
                           "2001:db8::1",
                           "2001::1",
                           "100::1"}) {
    const absl::Status status = CheckAddress(At(text), {});
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("webhooks.allow_networks")) << text;
  }
  for (const char* text : {"8.8.8.8", "172.15.0.1", "172.32.0.1", "100.128.0.1", "169.253.0.1",
                           "192.169.0.1", "223.255.255.255", "2606:4700::1111", "2a00:1450::1",
                           "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"}) {
    EXPECT_TRUE(CheckAddress(At(text), {}).ok()) << text;
  }
}

TEST(Addresses, AllowsConfiguredNetworks) {
  EXPECT_TRUE(CheckAddress(At("10.0.0.1"), {.allow_private = true, .allowed = {}}).ok());
  AddressRules rules;
  for (const char* text : {"10.1.0.0/16", "fd00::/8", "192.168.7.7"}) {
    rules.allowed.push_back(*ParseNetwork(text));
  }
  for (const char* text : {"10.1.200.3", "::ffff:10.1.0.1", "fd12::1", "192.168.7.7"}) {
    EXPECT_TRUE(CheckAddress(At(text), rules).ok()) << text;
  }
  for (const char* text : {"10.2.0.1", "fc00::1", "192.168.7.8", "127.0.0.1"}) {
    EXPECT_FALSE(CheckAddress(At(text), rules).ok()) << text;
  }
  for (const char* text : {"", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/x", "10.0.0", "example.org",
                           "fd00::/129", "/8"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseNetwork(text).status())) << text;
  }
  EXPECT_TRUE(ParseNetwork("0.0.0.0/0")->Contains(At("8.8.8.8")));
  EXPECT_FALSE(ParseNetwork("0.0.0.0/0")->Contains(At("::1")));
}

TEST(Addresses, ChecksHostOfUrl) {
  for (const char* url : {"http://127.0.0.1:8080/x", "http://localhost/x", "https://[::1]/x",
                          "http://10.0.0.7/x", "http://user:pw@192.168.1.1/x"}) {
    EXPECT_TRUE(absl::IsPermissionDenied(CheckHost(url, {}))) << url;
    EXPECT_TRUE(CheckHost(url, {.allow_private = true, .allowed = {}}).ok()) << url;
  }
  for (const char* url : {"https://example.org/x", "https://8.8.8.8/x", "not a url"}) {
    EXPECT_TRUE(CheckHost(url, {}).ok()) << url;
  }
}

TEST(Backoff, DelaysGrowAndEnd) {
  base::Rng rng(7);
  const absl::Time begin = absl::FromUnixSeconds(1'700'000'000);
  absl::Time now = begin;
  int attempts = 1;
  for (; const auto next = NextAttempt(attempts, begin, now, rng); ++attempts) {
    const absl::Duration most =
        std::min(kInitialRetryDelay * (1 << std::min(attempts - 1, 20)), kMaxRetryDelay);
    EXPECT_LE(*next - now, most);
    EXPECT_GE(*next - now, most / 2);
    now = *next;
  }
  EXPECT_GT(attempts, 24);
  EXPECT_LT(attempts, 100);
  EXPECT_LE(now, begin + kGiveUpAfter);
  EXPECT_TRUE(NextAttempt(1'000'000, now, now, rng).has_value())
      << "any number of attempts is valid";
}

store::DeliveryRecord Delivery() {
  store::DeliveryRecord delivery;
  delivery.event_id = "e-1";
  delivery.trigger = model::WebhookTrigger::kExperimentStateChange;
  delivery.condition = Value::Object{{"state", "ERROR"}};
  delivery.data = Value::Object{
      {"experiment", Value::Object{{"id", 7}, {"name", "a<b>&c"}, {"state", "ERROR"}}}};
  delivery.raised_at = absl::FromUnixSeconds(1'700'000'000);
  return delivery;
}

TEST(Payload, DescribesEvent) {
  EXPECT_EQ(MakeBody(store::WebhookType::kDefault, Delivery(), ""),
            R"({"condition":{"state":"ERROR"},"event_data":{"experiment":{"id":7,)"
            R"("name":"a<b>&c","state":"ERROR"}},"event_id":"e-1",)"
            R"("event_type":"EXPERIMENT_STATE_CHANGE","timestamp":1700000000})");
  EXPECT_THAT(MakeBody(store::WebhookType::kDefault, Delivery(), "https://det.example.org/"),
              HasSubstr(R"("link":"https://det.example.org/det/experiments/7")"));
}

TEST(Payload, ContainsStateOfExperimentInConditionOfCustomEvent) {
  store::DeliveryRecord delivery = Delivery();
  delivery.trigger = model::WebhookTrigger::kCustom;
  delivery.condition = Value::Object{};
  EXPECT_THAT(MakeBody(store::WebhookType::kDefault, delivery, ""),
              HasSubstr(R"("condition":{"state":"ERROR"})"));
}

Value ForSlack(const store::DeliveryRecord& delivery, const std::string& base_url) {
  const auto body = Value::FromJson(MakeBody(store::WebhookType::kSlack, delivery, base_url));
  EXPECT_TRUE(body.ok()) << body.status();
  return body.value_or(Value());
}

TEST(Payload, FormatsStateForSlack) {
  store::DeliveryRecord delivery = Delivery();
  Value::Object& facts = *delivery.data.MutableObject()->at("experiment").MutableObject();
  facts["duration"] = int64_t{3 * 3600 + 5 * 60 + 59};
  facts["workspace"] = "vision";
  facts["project"] = "nets";
  const Value failed = ForSlack(delivery, "https://det.example.org");
  EXPECT_EQ(failed.Find("blocks")->ToJson(),
            R"([{"text":{"text":"Your experiment has stopped with errors","type":"plain_text"},)"
            R"("type":"section"}])");
  EXPECT_EQ(failed.Find("attachments")->ToJson(),
            R"([{"blocks":[{"fields":[{"text":"*Status*: Error","type":"mrkdwn"},)"
            R"({"text":"*Duration*: 3h 5min","type":"mrkdwn"},)"
            R"({"text":"*Workspace*: vision","type":"mrkdwn"},)"
            R"({"text":"*Project*: nets","type":"mrkdwn"}],"text":{"text":)"
            R"("❌ <https://det.example.org/det/experiments/7|a&lt;b&gt;&amp;c (#7)>",)"
            R"("type":"mrkdwn"},"type":"section"}],"color":"#DD5040"}])");
  facts["state"] = "COMPLETED";
  const std::string completed = ForSlack(delivery, "").ToJson();
  EXPECT_THAT(completed, HasSubstr("Your experiment completed successfully 🎉"));
  EXPECT_THAT(completed, HasSubstr("✅ a&lt;b&gt;&amp;c (#7)"));
  EXPECT_THAT(completed, HasSubstr("#13B670"));
  facts["state"] = "PAUSED";
  EXPECT_THAT(ForSlack(delivery, "").ToJson(), HasSubstr("Your experiment is PAUSED"));
}

TEST(Payload, FormatsLogLineForSlack) {
  store::DeliveryRecord delivery = Delivery();
  delivery.trigger = model::WebhookTrigger::kTaskLog;
  delivery.condition = Value::Object{{"regex", "o+ps"}};
  (*delivery.data.MutableObject())["task_log"] =
      Value::Object{{"trial_id", 3}, {"node_name", "n1"}, {"triggering_log", "<oops>"}};
  EXPECT_EQ(*ForSlack(delivery, "").Find("text")->AsString(),
            "a&lt;b&gt;&amp;c (#7)\nTrial 3 on node n1 wrote:\n&lt;oops&gt;\n"
            "This log matched the regex\no+ps");
}

TEST(Payload, FormatsTestForSlack) {
  store::DeliveryRecord delivery = Delivery();
  delivery.data = Value::Object{{"data", "test"}};
  EXPECT_EQ(ForSlack(delivery, "").ToJson(),
            R"({"blocks":[{"text":{"text":"test","type":"plain_text"},"type":"section"}]})");
}

TEST(Payload, IsSigned) {
  // printf '1700000000,{}' | openssl dgst -sha256 -hmac key
  EXPECT_THAT(MakeHeaders("{}", absl::FromUnixSeconds(1'700'000'000), "key"),
              ElementsAre("Content-Type: application/json",
                          "X-Determined-AI-Signature-Timestamp: 1700000000",
                          "X-Determined-AI-Signature: "
                          "2fdbb74798e4583e043310a5bc73eefc59c82df61e53f710b45d401474727221"));
}

}  // namespace
}  // namespace det::webhooks
