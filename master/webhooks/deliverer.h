// Sends pending deliveries to webhooks: one thread finds those that are due, a few others send
// them. Failed deliveries are retried (retry_policy.h). A delivery is complete only when its row
// says so: a receiver may get an event twice, with the same event_id.
//
// Created, started and stopped by master.cc. Wake, SendTest: any thread.
#ifndef MASTER_WEBHOOKS_DELIVERER_H_
#define MASTER_WEBHOOKS_DELIVERER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "master/engine/sinks.h"
#include "master/store/interfaces/webhooks.h"
#include "master/webhooks/address_rules.h"
#include "master/webhooks/post.h"

namespace det::webhooks {

struct DelivererOptions {
  std::string signing_key;
  std::string base_url;  // public URL of this cluster, for links; may be empty
  AddressRules addresses;
  int max_concurrency = 4;  // at least 2
  absl::Duration timeout = kPostTimeout;
};

class Deliverer final : public engine::WebhookSink {
 public:
  Deliverer();
  ~Deliverer() override;  // calls Stop

  // All pointers must be valid until Stop returns. `leads`: whether this master leads; called
  // before each delivery. Calls of Wake before Start are not lost.
  void Start(DelivererOptions options, store::Webhooks* webhooks, const base::Clock* clock,
             std::function<bool()> leads);
  // Aborts deliveries in progress.
  void Stop();

  void Wake() override;

  // Sends a test event; calls `done` with the result on a thread of the deliverer. After Stop or
  // before Start: CANCELLED immediately.
  void SendTest(const store::WebhookRecord& webhook, absl::AnyInvocable<void(absl::Status)> done);

  // Checks the URL's host against the rules of deliveries. See webhooks::CheckHost.
  absl::Status CheckHost(const std::string& url) const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace det::webhooks

#endif  // MASTER_WEBHOOKS_DELIVERER_H_
