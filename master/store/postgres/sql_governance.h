// Audit records, stored responses, the cluster message and usage in PostgreSQL. Used by SqlStore.
// Any thread; blocks.
#ifndef MASTER_STORE_POSTGRES_SQL_GOVERNANCE_H_
#define MASTER_STORE_POSTGRES_SQL_GOVERNANCE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/audit.h"
#include "master/store/interfaces/cluster_message.h"
#include "master/store/interfaces/stored_responses.h"
#include "master/store/interfaces/usage.h"
#include "master/store/postgres/fence.h"
#include "master/store/postgres/pool.h"

namespace det::store {

class SqlAudit final : public Audit {
 public:
  // `writer` is used for writes, `readers` for reads.
  SqlAudit(Pool* writer, Pool* readers, Fence* fence)
      : writer_(*writer), readers_(*readers), fence_(*fence) {}

  absl::Status AddAudit(const std::vector<AuditRecord>& records) override;
  absl::StatusOr<std::vector<AuditRecord>> ListAudit(const AuditQuery& query) override;
  absl::StatusOr<int> CountAudit(const AuditQuery& query) override;

 private:
  Pool& writer_;
  Pool& readers_;
  Fence& fence_;
};

class SqlStoredResponses final : public StoredResponses {
 public:
  SqlStoredResponses(Pool* pool, Fence* fence) : pool_(*pool), fence_(*fence) {}

  absl::StatusOr<std::optional<StoredResponse>> GetResponse(model::UserId user,
                                                            const std::string& key,
                                                            absl::Time since) override;
  absl::Status PutResponse(const StoredResponse& stored, absl::Time since) override;

 private:
  Pool& pool_;
  Fence& fence_;
};

class SqlClusterMessage final : public ClusterMessage {
 public:
  SqlClusterMessage(Pool* pool, Fence* fence) : pool_(*pool), fence_(*fence) {}

  absl::StatusOr<std::optional<MessageRecord>> GetMessage() override;
  absl::Status SetMessage(const MessageRecord& message) override;
  absl::Status ClearMessage() override;

 private:
  Pool& pool_;
  Fence& fence_;
};

class SqlUsage final : public Usage {
 public:
  explicit SqlUsage(Pool* pool) : pool_(*pool) {}

  absl::StatusOr<std::vector<UsageRecord>> ListUsage(absl::Time from, absl::Time until) override;
  absl::StatusOr<std::vector<CapacityRecord>> ListCapacity(absl::Time from,
                                                           absl::Time until) override;

 private:
  Pool& pool_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SQL_GOVERNANCE_H_
