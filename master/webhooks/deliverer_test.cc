// Deliveries to a receiver on the loopback interface: sending, signing, retries, giving up.
#include "master/webhooks/deliverer.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/auth/tokens.h"
#include "master/store/testing/fake_store.h"
#include "master/store/testing/make_rows.h"
#include "master/webhooks/post.h"
#include "master/webhooks/retry_policy.h"
#include "master/webhooks/testing/receiver.h"

namespace det::webhooks {
namespace {

using store::DeliveryRecord;
using State = DeliveryRecord::State;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

const AddressRules kLoopback = {.allow_private = false, .allowed = {*ParseNetwork("127.0.0.0/8")}};

class DelivererTest : public testing::Test {
 protected:
  DelivererTest() {
    EXPECT_TRUE(store_.Load().ok());
    EXPECT_TRUE(store_.Commit(1, {cluster::PutExperiment{store::MakeExperiment(1)}}).ok());
  }
  int32_t Webhook(const std::string& url, const std::string& name) {
    store::WebhookRecord webhook;
    webhook.name = name;
    webhook.url = url;
    webhook.triggers.push_back(
        {.id = 0, .type = model::WebhookTrigger::kCustom, .condition = model::Value::Object{}});
    return store_.webhooks().AddWebhook(webhook)->id;
  }
  void Raise() {
    model::WebhookEvent event;
    event.experiment = model::ExperimentId(1);
    event.data = model::Value::Object{{"custom_data", model::Value::Object{{"title", "t"}}}};
    event.at = clock_.Now();
    EXPECT_TRUE(store_.webhooks().Raise(event).ok());
  }
  void Start(AddressRules rules = kLoopback, absl::Duration timeout = kPostTimeout) {
    DelivererOptions options;
    options.signing_key = "key";
    options.addresses = std::move(rules);
    options.timeout = timeout;
    deliverer_.Start(std::move(options), &store_.webhooks(), &clock_, [this] {
      const bool leads = leads_;
      return (++lead_checks_ == 1 && leads_once_) || leads;
    });
  }
  void AwaitLeadChecks(int times) {
    while (lead_checks_ < times) std::this_thread::yield();
  }
  // Waits until `holds` is true of the webhook's newest delivery, and returns it.
  DeliveryRecord Await(int32_t webhook, const std::function<bool(const DeliveryRecord&)>& holds) {
    while (true) {
      const auto found = store_.webhooks().ListDeliveries(webhook, 1);
      if (found.ok() && !found->empty() && holds(found->front())) return found->front();
      std::this_thread::yield();
    }
  }

  store::FakeStore store_;
  base::FakeClock clock_;
  std::atomic<bool> leads_ = true;
  std::atomic<bool> leads_once_ = false;  // the first leadership check succeeds
  std::atomic<int> lead_checks_ = 0;
  Deliverer deliverer_;
};

TEST_F(DelivererTest, SendsDueDeliveriesSigned) {
  Receiver receiver;
  const int32_t id = Webhook(receiver.url(), "a");
  Raise();
  Start();
  const Received got = receiver.Await(1).front();
  EXPECT_THAT(got.head, HasSubstr("POST /hook?secret=s HTTP/1.1"));
  EXPECT_EQ(got.Header("Content-Type"), "application/json");
  EXPECT_THAT(got.body, HasSubstr(R"("event_type":"CUSTOM")"));
  const std::string seconds = got.Header("X-Determined-AI-Signature-Timestamp");
  EXPECT_EQ(got.Header("X-Determined-AI-Signature"),
            auth::HmacSha256Hex("key", seconds + "," + got.body));
  const auto done = Await(id, [](const auto& row) { return row.state == State::kDelivered; });
  EXPECT_EQ(done.attempts, 1);
  EXPECT_EQ(done.ended_at, clock_.Now());

  Raise();
  deliverer_.Wake();
  EXPECT_THAT(receiver.Await(2), SizeIs(2));
}

TEST_F(DelivererTest, RetriesSameEventThenFails) {
  Receiver receiver({"503 Busy", "302 Found"});
  const int32_t id = Webhook(receiver.url(), "a");
  Raise();
  Start();
  const auto first = Await(id, [](const auto& row) { return row.attempts == 1; });
  EXPECT_EQ(first.state, State::kPending);
  EXPECT_EQ(first.error, "the receiver responded with 503");
  EXPECT_GT(first.next_at, clock_.Now());
  clock_.Set(first.next_at);
  deliverer_.Wake();
  const auto second = Await(id, [](const auto& row) { return row.attempts == 2; });
  EXPECT_THAT(second.error, HasSubstr("302, and redirects are not followed"));
  clock_.Set(second.next_at);
  deliverer_.Wake();
  Await(id, [](const auto& row) { return row.state == State::kDelivered; });
  const auto all = receiver.Await(3);
  EXPECT_EQ(all[0].body, all[2].body);
  EXPECT_NE(all[0].Header("X-Determined-AI-Signature"), all[2].Header("X-Determined-AI-Signature"));
}

TEST_F(DelivererTest, GivesUpAfterADay) {
  Receiver receiver({"500 No"});
  const int32_t id = Webhook(receiver.url(), "a");
  Raise();
  clock_.Advance(kGiveUpAfter);
  Start();
  const auto row = Await(id, [](const auto& each) { return each.state == State::kFailed; });
  EXPECT_EQ(row.error, "the receiver responded with 500");
  EXPECT_EQ(row.ended_at, clock_.Now());
}

TEST_F(DelivererTest, DoesNotConnectToPrivateAddresses) {
  Receiver receiver;
  const int32_t id = Webhook(receiver.url(), "a");
  const int32_t named = Webhook("http://localhost:1/", "b");
  Raise();
  Start(AddressRules());
  for (const int32_t each : {id, named}) {
    const auto row = Await(each, [](const auto& tried) { return tried.attempts == 1; });
    EXPECT_THAT(row.error, HasSubstr("is private or reserved"));
    EXPECT_THAT(row.error, Not(HasSubstr("secret")));
  }
  EXPECT_EQ(receiver.count(), 0u);
}

TEST_F(DelivererTest, DoesNotBlockOthers_WhenReceiverHangs) {
  Receiver silent({""});
  Receiver receiver;
  Webhook(silent.url(), "silent");
  const int32_t id = Webhook(receiver.url(), "a");
  for (int i = 0; i < 3; ++i) Raise();
  Start();
  silent.Await(1);
  receiver.Await(3);
  Await(id, [](const auto& row) { return row.state == State::kDelivered; });
  EXPECT_EQ(silent.count(), 1u) << "one delivery at a time";
  deliverer_.Stop();  // aborts the delivery
}

TEST_F(DelivererTest, DoesNotStarveOthers_WhenManyReceiversHang) {
  std::vector<std::unique_ptr<Receiver>> silent;
  for (int i = 0; i < 7; ++i) {
    silent.push_back(std::make_unique<Receiver>(std::deque<std::string>(1000, "")));
    Webhook(silent.back()->url(), "silent " + std::to_string(i));
  }
  Receiver receiver;
  const int32_t id = Webhook(receiver.url(), "a");
  Raise();
  // Each hanging receiver occupies a thread until its timeout.
  Start(kLoopback, absl::Seconds(2));
  Await(id, [](const auto& row) { return row.state == State::kDelivered; });
  for (const auto& each : silent) each->Await(1);
}

// One thread is reserved for receivers that respond.
TEST_F(DelivererTest, LimitsThreadsOfFailingReceivers) {
  std::vector<std::unique_ptr<Receiver>> bad;
  std::vector<int32_t> ids;
  for (int i = 0; i < 4; ++i) {
    // Fails, then does not respond.
    bad.push_back(std::make_unique<Receiver>(std::deque<std::string>{"500 No", "", ""}));
    ids.push_back(Webhook(bad.back()->url(), "bad " + std::to_string(i)));
  }
  Raise();
  Start();
  absl::Time next;
  for (const int32_t each : ids) {
    const auto row = Await(each, [](const auto& tried) { return tried.attempts == 1; });
    next = std::max(next, row.next_at);
  }
  clock_.Set(next);
  deliverer_.Wake();
  const auto hanging = [&] {
    return std::count_if(bad.begin(), bad.end(), [](const auto& e) { return e->count() == 2; });
  };
  while (hanging() < 3) std::this_thread::yield();
  Receiver receiver;
  const int32_t id = Webhook(receiver.url(), "a");
  Raise();
  deliverer_.Wake();
  Await(id, [](const auto& row) { return row.state == State::kDelivered; });
  EXPECT_EQ(hanging(), 3);
  deliverer_.Stop();  // aborts the delivery
}

TEST_F(DelivererTest, SendsOnlyAsLeader) {
  Receiver receiver;
  const int32_t id = Webhook(receiver.url(), "a");
  // The lease expires after the delivery was found and before it is sent.
  leads_ = false;
  leads_once_ = true;
  Raise();
  Start();
  // One check when the delivery is found, one before it is sent, and one in the next pass: by then
  // the second has had its effect.
  AwaitLeadChecks(3);
  EXPECT_EQ(receiver.count(), 0u);
  EXPECT_EQ(store_.webhooks().ListDeliveries(id, 1)->front().attempts, 0);
  leads_ = true;
  deliverer_.Wake();
  receiver.Await(1);
}

TEST_F(DelivererTest, SendsTestEvent) {
  Receiver receiver({"200 OK", "404 Gone"});
  const store::WebhookRecord webhook = *store_.webhooks().GetWebhook(Webhook(receiver.url(), "a"));
  Start();
  for (const bool good : {true, false}) {
    std::promise<absl::Status> came;
    deliverer_.SendTest(webhook, [&](absl::Status status) { came.set_value(std::move(status)); });
    EXPECT_EQ(came.get_future().get().ok(), good);
  }
  EXPECT_THAT(receiver.Await(2).front().body, HasSubstr(R"("test":true)"));
  deliverer_.Stop();
  std::promise<absl::Status> came;
  deliverer_.SendTest(webhook, [&](absl::Status status) { came.set_value(std::move(status)); });
  EXPECT_TRUE(absl::IsCancelled(came.get_future().get()));
}

TEST(Urls, AcceptsOnlyHttpAndHttps) {
  for (const char* url :
       {"https://example.org", "http://example.org:8000/a?b=c", "https://user:pw@example.org/"}) {
    EXPECT_TRUE(CheckUrl(url).ok()) << url;
  }
  for (const char* url : {"", "example.org", "ftp://example.org", "file:///etc/passwd", "https://",
                          "http://exa mple.org", "javascript:alert(1)", "gopher://secret"}) {
    const absl::Status status = CheckUrl(url);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << url;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("secret")));
  }
}

}  // namespace
}  // namespace det::webhooks
