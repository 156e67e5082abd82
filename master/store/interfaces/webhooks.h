// Webhooks: who is told of what, and what they are still to be told. Plain records, one transaction
// each; a change of an experiment's state makes its deliveries in the commit that makes the change
// (cluster::RaiseWebhooks). Reached by Store::webhooks(). Any thread; blocks.
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

enum class WebhookType { kDefault, kSlack };  // the form of what is sent
// All experiments of its workspace, or those alone whose configuration names it.
enum class WebhookMode { kWorkspace, kSpecific };

struct TriggerRecord {
  int32_t id = 0;
  model::WebhookTrigger type = model::WebhookTrigger::kCustom;
  model::Value condition = model::Value::Object{};
  friend bool operator==(const TriggerRecord&, const TriggerRecord&) = default;
};
struct WebhookRecord {
  int32_t id = 0;
  int32_t workspace = 0;  // 0: of all workspaces
  std::string name;       // one of a kind in its workspace
  std::string url;        // may hold a secret
  WebhookType type = WebhookType::kDefault;
  WebhookMode mode = WebhookMode::kWorkspace;
  std::vector<TriggerRecord> triggers;  // by id
  friend bool operator==(const WebhookRecord&, const WebhookRecord&) = default;
};
struct WebhookPatch {
  std::optional<std::string> name;
  std::optional<std::string> url;  // also of what is not delivered yet
  // Those with an id stay as they are, and remember whom they told; those without are new; others
  // go.
  std::optional<std::vector<TriggerRecord>> triggers;
};

// Something that a webhook is told.
struct DeliveryRecord {
  enum class State { kPending, kDelivered, kFailed };
  int64_t id = 0;
  int32_t webhook = 0;
  std::string event_id;  // the same in each attempt
  model::WebhookTrigger trigger = model::WebhookTrigger::kCustom;
  model::Value condition;  // of the trigger
  model::Value data;
  absl::Time raised_at;
  State state = State::kPending;
  int attempts = 0;
  absl::Time next_at;                  // kPending: not before
  std::optional<absl::Time> ended_at;  // kDelivered, kFailed
  std::string error;                   // of the last attempt; empty: none failed
  friend bool operator==(const DeliveryRecord&, const DeliveryRecord&) = default;
};
// What came of an attempt.
struct AttemptRecord {
  DeliveryRecord::State state = DeliveryRecord::State::kPending;
  absl::Time at;
  absl::Time next_at;  // kPending
  std::string error;
};

class Webhooks {
 public:
  virtual ~Webhooks() = default;

  // All, by id.
  virtual absl::StatusOr<std::vector<WebhookRecord>> ListWebhooks() = 0;
  virtual absl::StatusOr<WebhookRecord> GetWebhook(int32_t id) = 0;  // NOT_FOUND
  // Gives it and its triggers their ids. ALREADY_EXISTS by name; NOT_FOUND for the workspace, with
  // which it goes, FAILED_PRECONDITION for an archived one.
  virtual absl::StatusOr<WebhookRecord> AddWebhook(const WebhookRecord& webhook) = 0;
  // NOT_FOUND; ALREADY_EXISTS by name.
  virtual absl::StatusOr<WebhookRecord> ChangeWebhook(int32_t id, const WebhookPatch& patch) = 0;
  // With its deliveries. NOT_FOUND.
  virtual absl::Status DeleteWebhook(int32_t id) = 0;

  // A delivery, due at once, for each trigger that the event is for; how many there are. Twice for
  // the same `once_for` makes one.
  virtual absl::StatusOr<int> Raise(const model::WebhookEvent& event) = 0;

  // The pending one that is due first, of another webhook than `but`; nullopt for none.
  virtual absl::StatusOr<std::optional<DeliveryRecord>> NextDelivery(
      const std::vector<int32_t>& but) = 0;
  // OK also when it is gone by now.
  virtual absl::Status RecordAttempt(int64_t delivery, const AttemptRecord& attempt) = 0;
  // The newest first, at most `limit`.
  virtual absl::StatusOr<std::vector<DeliveryRecord>> ListDeliveries(int32_t webhook, int limit,
                                                                     int offset = 0) = 0;
  // How many there are.
  virtual absl::StatusOr<int> CountDeliveries(int32_t webhook) = 0;
  // Removes those that ended before.
  virtual absl::Status DropDeliveries(absl::Time before) = 0;
};

// What all implementations say.
inline absl::Status NoSuchWebhook(int32_t id) {
  return absl::NotFoundError(
      absl::StrCat("webhook ", id, " does not exist; `det webhook list` shows all"));
}
inline absl::Status WebhookExists(const std::string& name) {
  return absl::AlreadyExistsError(absl::StrCat("another webhook of this workspace is named \"",
                                               name, "\"; choose another name"));
}

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_WEBHOOKS_H_
