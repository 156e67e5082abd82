// Webhooks and configuration policies in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_WEBHOOKS_H_
#define MASTER_STORE_TESTING_FAKE_WEBHOOKS_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/config_policies.h"
#include "master/store/interfaces/webhooks.h"
#include "master/store/testing/fake_database.h"

namespace det::store {

// Both call `check_epoch` before each write, without the database's mutex.

class FakeWebhooks final : public Webhooks {
 public:
  FakeWebhooks(FakeDatabase* database, std::function<absl::Status()> check_epoch)
      : db_(*database), check_epoch_(std::move(check_epoch)) {}

  absl::StatusOr<std::vector<WebhookRecord>> ListWebhooks() override;
  absl::StatusOr<WebhookRecord> GetWebhook(int32_t id) override;
  absl::StatusOr<WebhookRecord> AddWebhook(const WebhookRecord& webhook) override;
  absl::StatusOr<WebhookRecord> ChangeWebhook(int32_t id, const WebhookPatch& patch) override;
  absl::Status DeleteWebhook(int32_t id) override;
  absl::StatusOr<int> Raise(const model::WebhookEvent& event) override;
  absl::StatusOr<std::optional<DeliveryRecord>> GetNextDelivery(
      const std::vector<int32_t>& excluded) override;
  absl::Status RecordAttempt(int64_t delivery, const AttemptRecord& attempt) override;
  absl::StatusOr<std::vector<DeliveryRecord>> ListDeliveries(int32_t webhook, int limit,
                                                             int offset) override;
  absl::StatusOr<int> CountDeliveries(int32_t webhook) override;
  absl::Status DropDeliveries(absl::Time before) override;

 private:
  // REQUIRES the mutex.

  FakeDatabase& db_;
  const std::function<absl::Status()> check_epoch_;
};

class FakeConfigPolicies final : public ConfigPolicies {
 public:
  FakeConfigPolicies(FakeDatabase* database, std::function<absl::Status()> check_epoch)
      : db_(*database), check_epoch_(std::move(check_epoch)) {}

  absl::StatusOr<model::Value> GetPolicies(int32_t workspace, const std::string& workload) override;
  absl::Status PutPolicies(int32_t workspace, const std::string& workload,
                           const model::Value& policies) override;
  absl::Status DeletePolicies(int32_t workspace, const std::string& workload) override;

 private:
  FakeDatabase& db_;
  const std::function<absl::Status()> check_epoch_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_WEBHOOKS_H_
