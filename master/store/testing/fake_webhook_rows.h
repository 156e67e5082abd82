// The rows of webhooks and configuration policies in FakeDatabase. Used only by FakeStore.
#ifndef MASTER_STORE_TESTING_FAKE_WEBHOOK_ROWS_H_
#define MASTER_STORE_TESTING_FAKE_WEBHOOK_ROWS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "master/core/model/ids.h"
#include "master/store/interfaces/webhooks.h"

namespace det::store {

struct WebhookRows {
  std::map<int32_t, WebhookRecord> webhooks;
  int32_t last_webhook = 0;
  int32_t last_trigger = 0;
  std::map<int64_t, DeliveryRecord> deliveries;
  int64_t last_delivery = 0;
  std::set<std::pair<model::TrialId, int32_t>> fired;
  std::map<std::pair<int32_t, std::string>, model::Value> policies;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_WEBHOOK_ROWS_H_
