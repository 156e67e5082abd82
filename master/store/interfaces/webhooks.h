// Webhooks, their triggers and deliveries. Plain records, one transaction each; deliveries for a
// state change of an experiment are created in the commit of that change (cluster::RaiseWebhooks).
// Reached through Store::webhooks(). Any thread; blocks.
#ifndef MASTER_STORE_INTERFACES_WEBHOOKS_H_
#define MASTER_STORE_INTERFACES_WEBHOOKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "master/core/model/value.h"
#include "master/core/model/webhook.h"

namespace det::store {

enum class WebhookType { kDefault, kSlack };  // format of the payload
// Applies to all experiments of its workspace, or only to those whose configuration names it.
enum class WebhookMode { kWorkspace, kSpecific };

struct TriggerRecord {
  int32_t id = 0;
  model::WebhookTrigger type = model::WebhookTrigger::kCustom;
  model::Value condition = model::Value::Object{};
  friend bool operator==(const TriggerRecord&, const TriggerRecord&) = default;
};
struct WebhookRecord {
  int32_t id = 0;
  int32_t workspace = 0;  // 0: all workspaces
  std::string name;       // may be empty, and the name of others
  std::string url;        // may contain a secret
  WebhookType type = WebhookType::kDefault;
  WebhookMode mode = WebhookMode::kWorkspace;
  std::vector<TriggerRecord> triggers;  // by id
  friend bool operator==(const WebhookRecord&, const WebhookRecord&) = default;
};
struct WebhookPatch {
  std::optional<std::string> name;
  std::optional<std::string> url;  // also used for pending deliveries
  // Triggers with an id are kept with their history; those without an id are added; all others are
  // deleted.
  std::optional<std::vector<TriggerRecord>> triggers;
};

// One event that is sent to one webhook.
struct DeliveryRecord {
  enum class State { kPending, kDelivered, kFailed };
  int64_t id = 0;
  int32_t webhook = 0;
  std::string event_id;  // the same for every attempt
  model::WebhookTrigger trigger = model::WebhookTrigger::kCustom;
  model::Value condition;  // condition of the trigger
  model::Value data;
  absl::Time raised_at;
  State state = State::kPending;
  int attempts = 0;
  absl::Time next_at;                  // kPending: time of the next attempt
  std::optional<absl::Time> ended_at;  // kDelivered, kFailed
  std::string error;                   // of the last attempt; empty: no attempt failed
  friend bool operator==(const DeliveryRecord&, const DeliveryRecord&) = default;
};
// Result of an attempt.
struct AttemptRecord {
  DeliveryRecord::State state = DeliveryRecord::State::kPending;
  absl::Time at;
  absl::Time next_at;  // kPending
  std::string error;
};

class Webhooks {
 public:
  virtual ~Webhooks() = default;

  // All webhooks, sorted by id.
  virtual absl::StatusOr<std::vector<WebhookRecord>> ListWebhooks() = 0;
  virtual absl::StatusOr<WebhookRecord> GetWebhook(int32_t id) = 0;  // NOT_FOUND
  // Assigns ids to the webhook and its triggers. It is deleted with its workspace. NOT_FOUND if the
  // workspace does not exist, FAILED_PRECONDITION if it is archived.
  virtual absl::StatusOr<WebhookRecord> AddWebhook(const WebhookRecord& webhook) = 0;
  // NOT_FOUND.
  virtual absl::StatusOr<WebhookRecord> ChangeWebhook(int32_t id, const WebhookPatch& patch) = 0;
  // Also deletes its deliveries. NOT_FOUND.
  virtual absl::Status DeleteWebhook(int32_t id) = 0;

  // Creates a delivery, due immediately, for each trigger that matches the event; returns their
  // number. An event with a `once_for` that was raised before creates none.
  virtual absl::StatusOr<int> Raise(const model::WebhookEvent& event) = 0;

  // The pending delivery that is due first, skipping webhooks in `excluded`; nullopt if there is
  // none.
  virtual absl::StatusOr<std::optional<DeliveryRecord>> GetNextDelivery(
      const std::vector<int32_t>& excluded) = 0;
  // Returns OK if the delivery was deleted meanwhile.
  virtual absl::Status RecordAttempt(int64_t delivery, const AttemptRecord& attempt) = 0;
  // Newest first, at most `limit`.
  virtual absl::StatusOr<std::vector<DeliveryRecord>> ListDeliveries(int32_t webhook, int limit,
                                                                     int offset = 0) = 0;
  // The number of deliveries of the webhook.
  virtual absl::StatusOr<int> CountDeliveries(int32_t webhook) = 0;
  // Deletes deliveries that ended before this time.
  virtual absl::Status DropDeliveries(absl::Time before) = 0;
};

// Errors that all implementations return.
inline absl::Status NoSuchWebhook(int32_t id) {
  return absl::NotFoundError(
      absl::StrCat("webhook ", id, " not found; `det webhook list` shows all"));
}

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_WEBHOOKS_H_
