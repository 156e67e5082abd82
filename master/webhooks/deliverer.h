// Tells webhooks what is in the rows: a thread that finds what is due, and a few that send it. What
// fails is tried again (backoff.h) until it is given up; a delivery counts as made only once its
// row says so, so a receiver may hear of one event twice, by the same event_id.
//
// Made, started and stopped by master.cc. Soon, Try: any thread.
#ifndef MASTER_WEBHOOKS_DELIVERER_H_
#define MASTER_WEBHOOKS_DELIVERER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "base/clock.h"
#include "master/engine/sinks.h"
#include "master/store/interfaces/webhooks.h"
#include "master/webhooks/addresses.h"
#include "master/webhooks/post.h"

namespace det::webhooks {

struct DelivererOptions {
  std::string signing_key;
  std::string base_url;  // where people open this cluster; may be empty
  AddressRules addresses;
  int at_once = 4;  // at least 2
  absl::Duration timeout = kPostTimeout;
};

class Deliverer final : public engine::WebhookSink {
 public:
  Deliverer();
  ~Deliverer() override;  // as Stop

  // All must outlive this, or its Stop. `leads`: whether this master may act now; asked before each
  // delivery. What Soon said before is not lost.
  void Start(DelivererOptions options, store::Webhooks* webhooks, const base::Clock* clock,
             std::function<bool()> leads);
  // Breaks off what is being sent.
  void Stop();

  void Soon() override;

  // Sends something to try it; `done` with what came of it, on a thread of this. After Stop, or
  // before Start: CANCELLED at once.
  void Try(const store::WebhookRecord& webhook, absl::AnyInvocable<void(absl::Status)> done);

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace det::webhooks

#endif  // MASTER_WEBHOOKS_DELIVERER_H_
