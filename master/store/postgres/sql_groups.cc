#include "master/store/postgres/sql_groups.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/query.h"

namespace det::store {
namespace {

#define DET_GROUP_COLUMNS                                                            \
  "id, name, coalesce((SELECT string_agg(user_id::text, ',' ORDER BY user_id) FROM " \
  "group_members m WHERE m.group_id = groups.id), '')"

constexpr char kGroupsFrom[] = R"sql( FROM groups WHERE ($1::text = '' OR name = $1::text)
  AND ($2::int IS NULL OR EXISTS (
    SELECT FROM group_members m WHERE m.group_id = groups.id AND m.user_id = $2::int)))sql";
// Locks the group, so that it is not deleted meanwhile.
constexpr char kHoldGroup[] = "SELECT name FROM groups WHERE id = $1 FOR UPDATE";
constexpr char kAddMember[] =
    "INSERT INTO group_members (group_id, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING "
    "RETURNING user_id";
constexpr char kRemoveMembers[] =
    "DELETE FROM group_members WHERE group_id = ANY($1::int[]) AND user_id = ANY($2::int[]) "
    "RETURNING user_id";
constexpr char kGroupRoleColumns[] = "SELECT group_id, workspace, role FROM group_roles WHERE ";

std::vector<model::UserId> ToUsers(std::string_view text) {
  std::vector<model::UserId> users;
  for (const absl::string_view each :
       absl::StrSplit(absl::string_view(text.data(), text.size()), ',', absl::SkipEmpty())) {
    int32_t id = 0;
    if (absl::SimpleAtoi(each, &id)) users.emplace_back(id);
  }
  return users;
}

GroupRecord ToGroup(const Result& result, int row) {
  return {.id = static_cast<int32_t>(result.Int(row, 0)),
          .name = std::string(result.Text(row, 1)),
          .members = ToUsers(result.Text(row, 2))};
}

absl::StatusOr<GroupRecord> ReadGroup(Connection& connection, int32_t id) {
  DET_ASSIGN_OR_RETURN(
      const Result result,
      connection.Exec("SELECT " DET_GROUP_COLUMNS " FROM groups WHERE id = $1", MakeParams(id)));
  if (result.rows() == 0) return NoSuchGroup(id);
  return ToGroup(result, 0);
}

absl::Status CheckUser(Connection& connection, model::UserId user) {
  DET_ASSIGN_OR_RETURN(const Result found,
                       connection.Exec("SELECT 1 FROM users WHERE id = $1", MakeParams(user)));
  return found.rows() == 0 ? UserNotFound(user) : absl::OkStatus();
}

absl::Status HoldGroup(Connection& connection, int32_t id) {
  DET_ASSIGN_OR_RETURN(const Result found, connection.Exec(kHoldGroup, MakeParams(id)));
  return found.rows() == 0 ? NoSuchGroup(id) : absl::OkStatus();
}

// Returns whether the user was not a member before.
absl::StatusOr<bool> AddMember(Connection& connection, int32_t group, model::UserId user) {
  DET_RETURN_IF_ERROR(CheckUser(connection, user));
  DET_ASSIGN_OR_RETURN(const Result added, connection.Exec(kAddMember, MakeParams(group, user)));
  return added.rows() > 0;
}

absl::Status RemoveMembers(Connection& connection, const std::vector<int32_t>& groups,
                           const std::vector<model::UserId>& users) {
  DET_ASSIGN_OR_RETURN(const Result removed,
                       connection.Exec(kRemoveMembers, {ToArray(groups), ToArray(users)}));
  return removed.rows() == 0 ? NoMembers() : absl::OkStatus();
}

std::vector<std::string> ToNames(const model::PermissionSet& permissions) {
  std::vector<std::string> names;
  for (const model::PermissionInfo& info : model::GetPermissionInfos()) {
    if (permissions.contains(info.permission)) names.emplace_back(info.api_name);
  }
  return names;
}

// Unknown names are permissions of another version.
model::PermissionSet ToPermissions(std::string_view names) {
  model::PermissionSet permissions;
  for (const absl::string_view name :
       absl::StrSplit(absl::string_view(names.data(), names.size()), ',')) {
    const auto permission = model::ParsePermission({name.data(), name.size()});
    if (permission) permissions.insert(*permission);
  }
  return permissions;
}

absl::Status CheckRoleName(Connection& connection, const RoleRecord& role) {
  DET_ASSIGN_OR_RETURN(const Result taken,
                       connection.Exec("SELECT 1 FROM created_roles WHERE name = $1 AND id <> $2",
                                       MakeParams(role.name, role.id.value())));
  return taken.rows() > 0 ? RoleExists(role.name) : absl::OkStatus();
}

// Locks a created role, so that it is not deleted meanwhile.
absl::Status HoldRole(Connection& connection, model::RoleId role) {
  if (!role.is_created()) return absl::OkStatus();
  DET_ASSIGN_OR_RETURN(const Result found,
                       connection.Exec("SELECT 1 FROM created_roles WHERE id = $1 FOR UPDATE",
                                       MakeParams(role.value())));
  return found.rows() == 0 ? NoSuchRole(role) : absl::OkStatus();
}

}  // namespace

absl::StatusOr<GroupRecord> SqlGroups::AddGroup(const std::string& name,
                                                const std::vector<model::UserId>& members) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<GroupRecord> {
    DET_ASSIGN_OR_RETURN(
        const Result added,
        connection.Exec("INSERT INTO groups (name) VALUES ($1) ON CONFLICT DO NOTHING RETURNING id",
                        MakeParams(name)));
    if (added.rows() == 0) return GroupExists(name);
    const auto id = static_cast<int32_t>(added.Int(0, 0));
    for (const model::UserId user : members) {
      DET_RETURN_IF_ERROR(AddMember(connection, id, user).status());
    }
    return ReadGroup(connection, id);
  });
}

absl::StatusOr<GroupRecord> SqlGroups::GetGroup(int32_t id) {
  return pool_.Run([&](Connection& connection) { return ReadGroup(connection, id); });
}

absl::StatusOr<GroupPage> SqlGroups::ListGroups(const GroupQuery& query) {
  const Params params = MakeParams(query.name, query.user);
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<GroupPage> {
    DET_ASSIGN_OR_RETURN(
        const WindowRows window,
        ReadWindow(connection, absl::StrCat("SELECT count(*)", kGroupsFrom),
                   absl::StrCat("SELECT " DET_GROUP_COLUMNS, kGroupsFrom, " ORDER BY id"), params,
                   query.window));
    GroupPage page;
    page.total = window.total;
    for (int row = 0; row < window.rows.rows(); ++row) {
      page.groups.push_back(ToGroup(window.rows, row));
    }
    return page;
  });
}

absl::StatusOr<GroupRecord> SqlGroups::ChangeGroup(int32_t id, const GroupPatch& patch) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<GroupRecord> {
    DET_RETURN_IF_ERROR(HoldGroup(connection, id));
    if (patch.name) {
      DET_ASSIGN_OR_RETURN(const Result taken,
                           connection.Exec("SELECT 1 FROM groups WHERE name = $1 AND id <> $2",
                                           MakeParams(*patch.name, id)));
      if (taken.rows() > 0) return GroupExists(*patch.name);
      DET_RETURN_IF_ERROR(
          connection.Exec("UPDATE groups SET name = $1 WHERE id = $2", MakeParams(*patch.name, id))
              .status());
    }
    for (const model::UserId user : patch.add) {
      DET_ASSIGN_OR_RETURN(const bool added, AddMember(connection, id, user));
      if (!added) return AlreadyMember(user);
    }
    if (!patch.remove.empty()) {
      DET_RETURN_IF_ERROR(RemoveMembers(connection, {id}, patch.remove));
    }
    return ReadGroup(connection, id);
  });
}

absl::Status SqlGroups::DeleteGroup(int32_t id) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_RETURN_IF_ERROR(HoldGroup(connection, id));
    for (const char* statement :
         {"DELETE FROM group_members WHERE group_id = $1",
          "DELETE FROM group_roles WHERE group_id = $1", "DELETE FROM groups WHERE id = $1"}) {
      DET_RETURN_IF_ERROR(connection.Exec(statement, MakeParams(id)).status());
    }
    return absl::OkStatus();
  });
}

absl::Status SqlGroups::AssignGroups(const std::vector<model::UserId>& users,
                                     const std::vector<int32_t>& add,
                                     const std::vector<int32_t>& remove) {
  std::vector<int32_t> groups = add;
  groups.insert(groups.end(), remove.begin(), remove.end());
  // In order: two calls that lock the same groups do not wait for each other.
  std::sort(groups.begin(), groups.end());
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    for (const int32_t group : groups) DET_RETURN_IF_ERROR(HoldGroup(connection, group));
    for (const model::UserId user : users) {
      DET_RETURN_IF_ERROR(CheckUser(connection, user));
      for (const int32_t group : add) {
        DET_RETURN_IF_ERROR(AddMember(connection, group, user).status());
      }
    }
    return remove.empty() ? absl::OkStatus() : RemoveMembers(connection, remove, users);
  });
}

absl::StatusOr<std::vector<GroupRole>> SqlGroups::ReadRoles(const char* sql, const Param& value) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<std::vector<GroupRole>> {
    DET_ASSIGN_OR_RETURN(const Result result,
                         connection.Exec(absl::StrCat(kGroupRoleColumns, sql), {value}));
    std::vector<GroupRole> roles;
    for (int row = 0; row < result.rows(); ++row) {
      const auto role = ParseRoleId(result.Text(row, 2));
      if (!role) continue;  // a role of another version
      roles.push_back({.group = static_cast<int32_t>(result.Int(row, 0)),
                       .workspace = static_cast<int32_t>(result.Int(row, 1)),
                       .role = *role});
    }
    std::sort(roles.begin(), roles.end());
    return roles;
  });
}

absl::StatusOr<std::vector<GroupRole>> SqlGroups::ListRolesOfGroup(int32_t group) {
  return ReadRoles("group_id = $1", ToParam(group));
}
absl::StatusOr<std::vector<GroupRole>> SqlGroups::ListRolesInWorkspace(int32_t workspace) {
  return ReadRoles("workspace = $1", ToParam(workspace));
}
absl::StatusOr<std::vector<GroupRole>> SqlGroups::ListRolesOfUser(model::UserId user) {
  return ReadRoles("group_id IN (SELECT group_id FROM group_members WHERE user_id = $1)",
                   ToParam(user));
}
absl::StatusOr<std::vector<GroupRole>> SqlGroups::ListGroupsWithRole(model::RoleId role) {
  return ReadRoles("role = $1", ToParam(ToText(role)));
}

absl::StatusOr<std::vector<RoleAssignment>> SqlGroups::ListUsersWithRole(model::RoleId role) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<std::vector<RoleAssignment>> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec("SELECT user_id, workspace FROM role_assignments WHERE role = $1 "
                        "ORDER BY user_id, workspace",
                        MakeParams(ToText(role))));
    std::vector<RoleAssignment> roles;
    for (int row = 0; row < result.rows(); ++row) {
      roles.push_back({.user = model::UserId(static_cast<int32_t>(result.Int(row, 0))),
                       .workspace = static_cast<int32_t>(result.Int(row, 1)),
                       .role = role});
    }
    return roles;
  });
}

absl::Status SqlGroups::AddRoles(const std::vector<RoleAssignment>& users,
                                 const std::vector<GroupRole>& groups) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    for (const RoleAssignment& each : users) {
      DET_RETURN_IF_ERROR(CheckUser(connection, each.user));
      DET_RETURN_IF_ERROR(HoldRole(connection, each.role));
      DET_RETURN_IF_ERROR(
          connection
              .Exec("INSERT INTO role_assignments (user_id, workspace, role) VALUES ($1, $2, $3) "
                    "ON CONFLICT DO NOTHING",
                    MakeParams(each.user, each.workspace, ToText(each.role)))
              .status());
    }
    for (const GroupRole& each : groups) {
      DET_RETURN_IF_ERROR(HoldGroup(connection, each.group));
      DET_RETURN_IF_ERROR(HoldRole(connection, each.role));
      DET_RETURN_IF_ERROR(
          connection
              .Exec("INSERT INTO group_roles (group_id, workspace, role) VALUES ($1, $2, $3) "
                    "ON CONFLICT DO NOTHING",
                    MakeParams(each.group, each.workspace, ToText(each.role)))
              .status());
    }
    return absl::OkStatus();
  });
}

absl::Status SqlGroups::RemoveRoles(const std::vector<RoleAssignment>& users,
                                    const std::vector<GroupRole>& groups) {
  std::vector<Connection::Statement> statements;
  for (const RoleAssignment& each : users) {
    statements.push_back(
        {"DELETE FROM role_assignments WHERE user_id = $1 AND workspace = $2 AND role = $3",
         MakeParams(each.user, each.workspace, ToText(each.role))});
  }
  for (const GroupRole& each : groups) {
    statements.push_back(
        {"DELETE FROM group_roles WHERE group_id = $1 AND workspace = $2 AND role = $3",
         MakeParams(each.group, each.workspace, ToText(each.role))});
  }
  return fence_.Write(pool_, statements);
}

absl::StatusOr<std::vector<RoleRecord>> SqlGroups::ListRoles() {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<std::vector<RoleRecord>> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec("SELECT id, name, array_to_string(permissions, ',') FROM created_roles "
                        "ORDER BY id"));
    std::vector<RoleRecord> roles;
    for (int row = 0; row < result.rows(); ++row) {
      roles.push_back({.id = model::RoleId(static_cast<int32_t>(result.Int(row, 0))),
                       .name = std::string(result.Text(row, 1)),
                       .permissions = ToPermissions(result.Text(row, 2))});
    }
    return roles;
  });
}

absl::StatusOr<RoleRecord> SqlGroups::AddRole(const RoleRecord& role) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<RoleRecord> {
    DET_ASSIGN_OR_RETURN(const Result added,
                         connection.Exec("INSERT INTO created_roles (id, name, permissions) "
                                         "VALUES (nextval('created_role_ids'), $1, $2::text[]) "
                                         "ON CONFLICT DO NOTHING RETURNING id",
                                         {ToParam(role.name), ToArray(ToNames(role.permissions))}));
    if (added.rows() == 0) return RoleExists(role.name);
    RoleRecord record = role;
    record.id = model::RoleId(static_cast<int32_t>(added.Int(0, 0)));
    return record;
  });
}

absl::Status SqlGroups::ChangeRole(const RoleRecord& role) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_RETURN_IF_ERROR(HoldRole(connection, role.id));
    DET_RETURN_IF_ERROR(CheckRoleName(connection, role));
    return connection
        .Exec("UPDATE created_roles SET name = $1, permissions = $2::text[] WHERE id = $3",
              {ToParam(role.name), ToArray(ToNames(role.permissions)), ToParam(role.id.value())})
        .status();
  });
}

absl::Status SqlGroups::DeleteRole(model::RoleId id) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_RETURN_IF_ERROR(HoldRole(connection, id));
    DET_ASSIGN_OR_RETURN(const Result used,
                         connection.Exec("SELECT 1 FROM role_assignments WHERE role = $1 UNION ALL "
                                         "SELECT 1 FROM group_roles WHERE role = $1 LIMIT 1",
                                         MakeParams(ToText(id))));
    if (used.rows() > 0) return RoleInUse(id);
    return connection.Exec("DELETE FROM created_roles WHERE id = $1", MakeParams(id.value()))
        .status();
  });
}

}  // namespace det::store
