// Groups in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_GROUPS_H_
#define MASTER_STORE_TESTING_FAKE_GROUPS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/store/interfaces/groups.h"
#include "master/store/testing/fake_database.h"

namespace det::store {

class FakeGroups final : public Groups {
 public:
  // `check_epoch` is called before each write, without the database's mutex.
  FakeGroups(FakeDatabase* database, std::function<absl::Status()> check_epoch)
      : db_(*database), rows_(database->group_rows), check_epoch_(std::move(check_epoch)) {}

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
  // All require the database's mutex.
  bool IsUser(model::UserId id) const { return db_.user_rows.users.contains(id); }
  bool IsGroupName(const std::string& name, int32_t except) const;
  bool IsRoleName(const std::string& name, model::RoleId except) const;
  bool IsRole(model::RoleId role) const { return !role.is_created() || rows_.roles.contains(role); }
  template <class Matches>
  std::vector<GroupRole> Select(const Matches& matches) const;

  FakeDatabase& db_;
  GroupRows& rows_;
  const std::function<absl::Status()> check_epoch_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_GROUPS_H_
