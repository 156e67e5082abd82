// Webhooks and policies for configurations in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_HOOKS_H_
#define MASTER_STORE_TESTING_FAKE_HOOKS_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "master/store/interfaces/config_policies.h"
#include "master/store/interfaces/webhooks.h"
#include "master/store/testing/fake_database.h"

namespace det::store {

// In both `held` is asked before each write, without the database's mutex.

class FakeWebhooks final : public Webhooks {
 public:
  FakeWebhooks(FakeDatabase* database, std::function<absl::Status()> held)
      : db_(*database), held_(std::move(held)) {}

  absl::StatusOr<std::vector<WebhookRecord>> ListWebhooks() override;
  absl::StatusOr<WebhookRecord> GetWebhook(int32_t id) override;
  absl::StatusOr<WebhookRecord> AddWebhook(const WebhookRecord& webhook) override;
  absl::StatusOr<WebhookRecord> ChangeWebhook(int32_t id, const WebhookPatch& patch) override;
  absl::Status DeleteWebhook(int32_t id) override;
  absl::StatusOr<int> Raise(const model::WebhookEvent& event) override;
  absl::StatusOr<std::optional<DeliveryRecord>> NextDelivery(
      const std::vector<int32_t>& but) override;
  absl::Status RecordAttempt(int64_t delivery, const AttemptRecord& attempt) override;
  absl::StatusOr<std::vector<DeliveryRecord>> ListDeliveries(int32_t webhook, int limit,
                                                             int offset) override;
  absl::StatusOr<int> CountDeliveries(int32_t webhook) override;
  absl::Status DropDeliveries(absl::Time before) override;

 private:
  // Holds the mutex already.
  bool IsTaken(int32_t workspace, const std::string& name, int32_t but) const;

  FakeDatabase& db_;
  const std::function<absl::Status()> held_;
};

class FakeConfigPolicies final : public ConfigPolicies {
 public:
  FakeConfigPolicies(FakeDatabase* database, std::function<absl::Status()> held)
      : db_(*database), held_(std::move(held)) {}

  absl::StatusOr<model::Value> GetPolicies(int32_t workspace, const std::string& workload) override;
  absl::Status PutPolicies(int32_t workspace, const std::string& workload,
                           const model::Value& policies) override;
  absl::Status DeletePolicies(int32_t workspace, const std::string& workload) override;

 private:
  FakeDatabase& db_;
  const std::function<absl::Status()> held_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_HOOKS_H_
