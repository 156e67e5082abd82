// Audit records, stored responses, the cluster message and usage in memory. Used by FakeStore. Any
// thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_GOVERNANCE_H_
#define MASTER_STORE_TESTING_FAKE_GOVERNANCE_H_

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/audit.h"
#include "master/store/interfaces/cluster_message.h"
#include "master/store/interfaces/stored_responses.h"
#include "master/store/interfaces/usage.h"

namespace det::store {

struct FakeDatabase;

struct GovernanceRows {
  std::vector<AuditRecord> audit;  // by id
  std::map<std::pair<model::UserId, std::string>, StoredResponse> responses;
  std::optional<MessageRecord> message;
};

// All of them call `check_epoch` before each write, without the mutex that guards the rows.

class FakeAudit final : public Audit {
 public:
  FakeAudit(FakeDatabase* database, std::function<absl::Status()> check_epoch)
      : database_(*database), check_epoch_(std::move(check_epoch)) {}

  absl::Status AddAudit(const std::vector<AuditRecord>& records) override;
  absl::StatusOr<std::vector<AuditRecord>> ListAudit(const AuditQuery& query) override;
  absl::StatusOr<int> CountAudit(const AuditQuery& query) override;

 private:
  FakeDatabase& database_;
  const std::function<absl::Status()> check_epoch_;
};

class FakeStoredResponses final : public StoredResponses {
 public:
  FakeStoredResponses(FakeDatabase* database, std::function<absl::Status()> check_epoch)
      : database_(*database), check_epoch_(std::move(check_epoch)) {}

  absl::StatusOr<std::optional<StoredResponse>> GetResponse(model::UserId user,
                                                            const std::string& key,
                                                            absl::Time since) override;
  absl::Status PutResponse(const StoredResponse& stored, absl::Time since) override;

 private:
  FakeDatabase& database_;
  const std::function<absl::Status()> check_epoch_;
};

class FakeClusterMessage final : public ClusterMessage {
 public:
  FakeClusterMessage(FakeDatabase* database, std::function<absl::Status()> check_epoch)
      : database_(*database), check_epoch_(std::move(check_epoch)) {}

  absl::StatusOr<std::optional<MessageRecord>> GetMessage() override;
  absl::Status SetMessage(const MessageRecord& message) override;
  absl::Status ClearMessage() override;

 private:
  FakeDatabase& database_;
  const std::function<absl::Status()> check_epoch_;
};

class FakeUsage final : public Usage {
 public:
  explicit FakeUsage(FakeDatabase* database) : database_(*database) {}

  absl::StatusOr<std::vector<UsageRecord>> ListUsage(absl::Time from, absl::Time until) override;
  absl::StatusOr<std::vector<CapacityRecord>> ListCapacity(absl::Time from,
                                                           absl::Time until) override;

 private:
  FakeDatabase& database_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_GOVERNANCE_H_
