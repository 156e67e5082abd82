// Sessions, access tokens and roles in PostgreSQL. Used by SqlStore. Any thread; blocks.
#ifndef MASTER_STORE_POSTGRES_SQL_ACCESS_H_
#define MASTER_STORE_POSTGRES_SQL_ACCESS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/access.h"
#include "master/store/postgres/fence.h"
#include "master/store/postgres/pool.h"

namespace det::store {

class SqlAccess final : public Access {
 public:
  SqlAccess(Pool* pool, Fence* fence) : pool_(*pool), fence_(*fence) {}

  absl::StatusOr<int32_t> PutSession(const SessionRecord& session) override;
  absl::StatusOr<SessionRecord> GetSession(const std::string& token_hash, absl::Time now) override;
  absl::Status DeleteSession(const std::string& token_hash) override;
  absl::Status DeleteLogins(model::UserId user, const std::string& keep) override;
  absl::Status DeleteUserSessions(model::UserId user) override;
  absl::Status RecordUse(const std::string& token_hash, absl::Time at) override;

  absl::StatusOr<TokenPage> ListTokens(const TokenQuery& query) override;
  absl::StatusOr<SessionRecord> ChangeToken(int32_t id,
                                            const std::optional<std::string>& description,
                                            bool revoke) override;

  absl::StatusOr<std::vector<RoleAssignment>> GetUserRoles(model::UserId user) override;
  absl::StatusOr<std::vector<RoleAssignment>> GetWorkspaceRoles(int32_t workspace) override;
  absl::Status AddRole(const RoleAssignment& assignment) override;
  absl::Status RemoveRole(const RoleAssignment& assignment) override;

 private:
  absl::Status Write(const char* statement, const Params& params);
  absl::StatusOr<std::vector<RoleAssignment>> Roles(const char* where, int32_t value);

  Pool& pool_;
  Fence& fence_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SQL_ACCESS_H_
