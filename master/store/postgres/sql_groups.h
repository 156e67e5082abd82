// Groups in PostgreSQL. Used by SqlStore. Any thread; blocks.
#ifndef MASTER_STORE_POSTGRES_SQL_GROUPS_H_
#define MASTER_STORE_POSTGRES_SQL_GROUPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/store/interfaces/groups.h"
#include "master/store/postgres/fence.h"
#include "master/store/postgres/pool.h"

namespace det::store {

class SqlGroups final : public Groups {
 public:
  SqlGroups(Pool* pool, Fence* fence) : pool_(*pool), fence_(*fence) {}

  absl::StatusOr<GroupRecord> AddGroup(const std::string& name,
                                       const std::vector<model::UserId>& members) override;
  absl::StatusOr<GroupRecord> GetGroup(int32_t id) override;
  absl::StatusOr<GroupPage> ListGroups(const GroupQuery& query) override;
  absl::StatusOr<GroupRecord> ChangeGroup(int32_t id, const GroupPatch& patch) override;
  absl::Status DeleteGroup(int32_t id) override;
  absl::Status AssignGroups(const std::vector<model::UserId>& users,
                            const std::vector<int32_t>& add,
                            const std::vector<int32_t>& remove) override;

  absl::StatusOr<std::vector<GroupRole>> ListRolesOfGroup(int32_t group) override;
  absl::StatusOr<std::vector<GroupRole>> ListRolesInWorkspace(int32_t workspace) override;
  absl::StatusOr<std::vector<GroupRole>> ListRolesOfUser(model::UserId user) override;
  absl::Status AddRoles(const std::vector<RoleAssignment>& users,
                        const std::vector<GroupRole>& groups) override;
  absl::Status RemoveRoles(const std::vector<RoleAssignment>& users,
                           const std::vector<GroupRole>& groups) override;
  absl::StatusOr<std::vector<RoleAssignment>> ListUsersWithRole(model::RoleId role) override;
  absl::StatusOr<std::vector<GroupRole>> ListGroupsWithRole(model::RoleId role) override;

  absl::StatusOr<std::vector<RoleRecord>> ListRoles() override;
  absl::StatusOr<RoleRecord> AddRole(const RoleRecord& role) override;
  absl::Status ChangeRole(const RoleRecord& role) override;
  absl::Status DeleteRole(model::RoleId id) override;

 private:
  absl::StatusOr<std::vector<GroupRole>> ReadRoles(const char* sql, const Param& value);

  Pool& pool_;
  Fence& fence_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SQL_GROUPS_H_
