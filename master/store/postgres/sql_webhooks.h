// Webhooks and configuration policies in PostgreSQL. Used by SqlStore. Any thread; blocks.
#ifndef MASTER_STORE_POSTGRES_SQL_WEBHOOKS_H_
#define MASTER_STORE_POSTGRES_SQL_WEBHOOKS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/config_policies.h"
#include "master/store/interfaces/webhooks.h"
#include "master/store/postgres/fence.h"
#include "master/store/postgres/pool.h"

namespace det::store {

class SqlWebhooks final : public Webhooks {
 public:
  SqlWebhooks(Pool* pool, Fence* fence) : pool_(*pool), fence_(*fence) {}

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
  Pool& pool_;
  Fence& fence_;
};

class SqlConfigPolicies final : public ConfigPolicies {
 public:
  SqlConfigPolicies(Pool* pool, Fence* fence) : pool_(*pool), fence_(*fence) {}

  absl::StatusOr<model::Value> GetPolicies(int32_t workspace, const std::string& workload) override;
  absl::Status PutPolicies(int32_t workspace, const std::string& workload,
                           const model::Value& policies) override;
  absl::Status DeletePolicies(int32_t workspace, const std::string& workload) override;

 private:
  Pool& pool_;
  Fence& fence_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SQL_WEBHOOKS_H_
