#include "master/webhooks/deliverer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/thread_pool.h"
#include "master/webhooks/payload.h"
#include "master/webhooks/post.h"
#include "master/webhooks/retry_policy.h"

namespace det::webhooks {
namespace {

using store::AttemptRecord;
using store::DeliveryRecord;
using State = DeliveryRecord::State;

constexpr absl::Duration kRetryDelay = absl::Seconds(2);  // after the database was unavailable
constexpr absl::Duration kPollInterval = absl::Hours(1);  // and delete old deliveries
constexpr absl::Duration kRetention = absl::Hours(24 * 7);
constexpr size_t kErrorLimit = 500;

}  // namespace

class Deliverer::Impl {
 public:
  ~Impl() { Stop(); }
  void Start(DelivererOptions options, store::Webhooks* webhooks, const base::Clock* clock,
             std::function<bool()> leads) {
    options_ = std::move(options);
    webhooks_ = webhooks;
    clock_ = clock;
    leads_ = std::move(leads);
    // One more thread, for test events.
    pool_ = std::make_unique<base::ThreadPool>(options_.max_concurrency + 1);
    thread_ = std::thread([this] { Run(); });
  }
  void Stop();
  void Wake();
  void SendTest(const store::WebhookRecord& webhook, absl::AnyInvocable<void(absl::Status)> done);
  absl::Status CheckHost(const std::string& url) const {
    return webhooks::CheckHost(url, options_.addresses);
  }

 private:
  void Run();
  // Starts due deliveries; returns the time until the next one.
  absl::Duration Pass();
  void Send(const DeliveryRecord& delivery);
  absl::Status Attempt(const store::WebhookRecord& webhook, const DeliveryRecord& delivery) const;
  AttemptRecord After(const DeliveryRecord& delivery, const absl::Status& sent);
  // A webhook that does not respond occupies a thread for long: the longer it fails, the more
  // others have precedence.
  void RecordResult(int32_t webhook, bool ok, absl::Time now);
  // The number of deliveries in progress to failing webhooks. REQUIRES the mutex.
  int BusyFailing() const {
    return static_cast<int>(std::count_if(failing_.begin(), failing_.end(), [this](const auto& e) {
      return busy_.contains(e.first);
    }));
  }
  // Retries until it succeeds or this stops: a row that is still PENDING would be sent again
  // immediately.
  void Record(int64_t delivery, const AttemptRecord& attempt);
  // Waits for at most this time; returns false when stopping.
  bool Pause(absl::Duration length);

  DelivererOptions options_;
  store::Webhooks* webhooks_ = nullptr;
  const base::Clock* clock_ = nullptr;
  std::function<bool()> leads_;
  std::atomic<bool> stopping_ = false;  // set under the mutex
  std::mutex mutex_;
  std::condition_variable changed_;
  bool due_ = true;
  std::set<int32_t> busy_;  // webhooks with a delivery in progress: one at a time each
  struct Failing {
    int attempts = 0;  // consecutive failures
    absl::Time until;  // others have precedence until then
  };
  std::map<int32_t, Failing> failing_;  // by webhook
  base::Rng rng_{std::random_device()()};
  absl::Time dropped_ = absl::InfinitePast();  // used on Run's thread
  std::unique_ptr<base::ThreadPool> pool_;
  std::thread thread_;
};

void Deliverer::Impl::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (pool_ != nullptr) pool_->Stop();
}

void Deliverer::Impl::Wake() {
  {
    std::lock_guard lock(mutex_);
    due_ = true;
  }
  changed_.notify_all();
}

void Deliverer::Impl::Run() {
  while (true) {
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
      due_ = false;
    }
    const absl::Duration idle = Pass();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, absl::ToChronoMilliseconds(idle), [this] { return due_ || stopping_; });
  }
}

absl::Duration Deliverer::Impl::Pass() {
  if (!leads_()) return kRetryDelay;
  const absl::Time now = clock_->Now();
  if (now - dropped_ >= kPollInterval && webhooks_->DropDeliveries(now - kRetention).ok())
    dropped_ = now;
  while (true) {
    std::vector<int32_t> others;
    absl::Time again = now + kPollInterval;
    {
      std::lock_guard lock(mutex_);
      if (stopping_ || static_cast<int>(busy_.size()) >= options_.max_concurrency)
        return kPollInterval;
      others.assign(busy_.begin(), busy_.end());
      // One thread is reserved for webhooks that respond.
      const bool kept = BusyFailing() >= options_.max_concurrency - 1;
      for (const auto& [webhook, failing] : failing_) {
        if (kept) others.push_back(webhook);
        if (failing.until <= now) continue;
        others.push_back(webhook);
        again = std::min(again, failing.until);
      }
    }
    const absl::StatusOr<std::optional<DeliveryRecord>> next = webhooks_->GetNextDelivery(others);
    if (!next.ok()) return kRetryDelay;
    if (next->has_value()) again = std::min(again, (*next)->next_at);
    // Rounded up, since a wait is truncated to milliseconds.
    if (!next->has_value() || again > now) return again - now + absl::Milliseconds(1);
    {
      std::lock_guard lock(mutex_);
      busy_.insert((*next)->webhook);
    }
    pool_->Post([this, delivery = **next] { Send(delivery); });
  }
}

void Deliverer::Impl::Send(const DeliveryRecord& delivery) {
  const absl::StatusOr<store::WebhookRecord> webhook = webhooks_->GetWebhook(delivery.webhook);
  if (webhook.ok() && !stopping_ && leads_()) {
    const absl::Status sent = Attempt(*webhook, delivery);
    if (!absl::IsCancelled(sent)) Record(delivery.id, After(delivery, sent));
  } else {
    Pause(webhook.ok() || absl::IsNotFound(webhook.status()) ? absl::ZeroDuration() : kRetryDelay);
  }
  {
    std::lock_guard lock(mutex_);
    busy_.erase(delivery.webhook);
  }
  Wake();
}

absl::Status Deliverer::Impl::Attempt(const store::WebhookRecord& webhook,
                                      const DeliveryRecord& delivery) const {
  const std::string body = MakeBody(webhook.type, delivery, options_.base_url);
  return Post(webhook.url, MakeHeaders(body, clock_->Now(), options_.signing_key), body,
              options_.addresses, options_.timeout, stopping_);
}

AttemptRecord Deliverer::Impl::After(const DeliveryRecord& delivery, const absl::Status& sent) {
  AttemptRecord attempt;
  attempt.at = clock_->Now();
  attempt.state = State::kDelivered;
  RecordResult(delivery.webhook, sent.ok(), attempt.at);
  if (sent.ok()) return attempt;
  attempt.error = std::string(sent.message()).substr(0, kErrorLimit);
  std::optional<absl::Time> next;
  {
    std::lock_guard lock(mutex_);
    next = NextAttempt(delivery.attempts + 1, delivery.raised_at, attempt.at, rng_);
  }
  attempt.state = next ? State::kPending : State::kFailed;
  attempt.next_at = next.value_or(attempt.at);
  DET_LOG(WARNING) << (next ? "webhook delivery failed; will be retried"
                            : "webhook delivery failed")
                   << base::Field("webhook", delivery.webhook)
                   << base::Field("event", delivery.event_id)
                   << base::Field("reason", attempt.error);
  return attempt;
}

void Deliverer::Impl::RecordResult(int32_t webhook, bool ok, absl::Time now) {
  constexpr int kMaxDoublings = 8;
  std::lock_guard lock(mutex_);
  if (ok) {
    failing_.erase(webhook);
    return;
  }
  Failing& failing = failing_[webhook];
  // At most the delay of a delivery that failed as often.
  const int doublings = std::min(failing.attempts++, kMaxDoublings);
  failing.until = now + kInitialRetryDelay / 2 * (int64_t{1} << doublings);
}

void Deliverer::Impl::Record(int64_t delivery, const AttemptRecord& attempt) {
  while (!webhooks_->RecordAttempt(delivery, attempt).ok()) {
    if (!Pause(kRetryDelay)) return;
  }
}

bool Deliverer::Impl::Pause(absl::Duration length) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, absl::ToChronoMilliseconds(length), [this] { return stopping_.load(); });
  return !stopping_;
}

void Deliverer::Impl::SendTest(const store::WebhookRecord& webhook,
                               absl::AnyInvocable<void(absl::Status)> done) {
  DeliveryRecord delivery;
  delivery.event_id.append("test");
  delivery.trigger = model::WebhookTrigger::kExperimentStateChange;
  delivery.condition = model::Value::Object{{"state", "COMPLETED"}};
  delivery.data = model::Value::Object{{"data", "test"}, {"test", true}};
  // Under the mutex, so that Stop comes before, or runs it.
  std::unique_lock lock(mutex_);
  if (stopping_ || pool_ == nullptr) {
    lock.unlock();
    return done(absl::CancelledError("the master is stopping"));
  }
  delivery.raised_at = clock_->Now();
  pool_->Post([this, webhook, delivery, done = std::move(done)]() mutable {
    done(Attempt(webhook, delivery));
  });
}

Deliverer::Deliverer() : impl_(std::make_unique<Impl>()) {}
Deliverer::~Deliverer() = default;
void Deliverer::Start(DelivererOptions options, store::Webhooks* webhooks, const base::Clock* clock,
                      std::function<bool()> leads) {
  impl_->Start(std::move(options), webhooks, clock, std::move(leads));
}
void Deliverer::Stop() { impl_->Stop(); }
void Deliverer::Wake() { impl_->Wake(); }
absl::Status Deliverer::CheckHost(const std::string& url) const { return impl_->CheckHost(url); }
void Deliverer::SendTest(const store::WebhookRecord& webhook,
                         absl::AnyInvocable<void(absl::Status)> done) {
  impl_->SendTest(webhook, std::move(done));
}

}  // namespace det::webhooks
