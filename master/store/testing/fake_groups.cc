#include "master/store/testing/fake_groups.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"

namespace det::store {
namespace {

bool IsMember(const GroupRecord& group, model::UserId user) {
  return std::binary_search(group.members.begin(), group.members.end(), user);
}

void AddMember(GroupRecord& group, model::UserId user) {
  if (IsMember(group, user)) return;
  group.members.insert(std::upper_bound(group.members.begin(), group.members.end(), user), user);
}

// Returns whether one of the users was a member.
bool RemoveMembers(GroupRecord& group, const std::vector<model::UserId>& users) {
  return std::erase_if(group.members, [&](model::UserId member) {
           return std::find(users.begin(), users.end(), member) != users.end();
         }) > 0;
}

}  // namespace

bool FakeGroups::IsGroupName(const std::string& name, int32_t except) const {
  return std::any_of(rows_.groups.begin(), rows_.groups.end(), [&](const auto& item) {
    return item.first != except && item.second.name == name;
  });
}

bool FakeGroups::IsRoleName(const std::string& name, model::RoleId except) const {
  return std::any_of(rows_.roles.begin(), rows_.roles.end(), [&](const auto& item) {
    return item.first != except && item.second.name == name;
  });
}

absl::StatusOr<GroupRecord> FakeGroups::AddGroup(const std::string& name,
                                                 const std::vector<model::UserId>& members) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  if (IsGroupName(name, 0)) return GroupExists(name);
  GroupRecord group{.name = name};
  for (const model::UserId user : members) {
    if (!IsUser(user)) return UserNotFound(user);
    AddMember(group, user);
  }
  group.id = ++rows_.last_group;
  return rows_.groups[group.id] = group;
}

absl::StatusOr<GroupRecord> FakeGroups::GetGroup(int32_t id) {
  std::lock_guard lock(db_.mutex);
  const auto it = rows_.groups.find(id);
  if (it == rows_.groups.end()) return NoSuchGroup(id);
  return it->second;
}

absl::StatusOr<GroupPage> FakeGroups::ListGroups(const GroupQuery& query) {
  std::lock_guard lock(db_.mutex);
  std::vector<GroupRecord> all;
  for (const auto& [id, group] : rows_.groups) {
    if (!query.name.empty() && group.name != query.name) continue;
    if (query.user && !IsMember(group, *query.user)) continue;
    all.push_back(group);
  }
  const int total = static_cast<int>(all.size());
  const Range range = Resolve(query.window, total);
  return GroupPage{{all.begin() + range.begin, all.begin() + range.end}, total};
}

absl::StatusOr<GroupRecord> FakeGroups::ChangeGroup(int32_t id, const GroupPatch& patch) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto it = rows_.groups.find(id);
  if (it == rows_.groups.end()) return NoSuchGroup(id);
  GroupRecord group = it->second;
  if (patch.name) {
    if (IsGroupName(*patch.name, id)) return GroupExists(*patch.name);
    group.name = *patch.name;
  }
  for (const model::UserId user : patch.add) {
    if (!IsUser(user)) return UserNotFound(user);
    if (IsMember(group, user)) return AlreadyMember(user);
    AddMember(group, user);
  }
  if (!patch.remove.empty() && !RemoveMembers(group, patch.remove)) return NoMembers();
  return it->second = group;
}

absl::Status FakeGroups::DeleteGroup(int32_t id) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  if (rows_.groups.erase(id) == 0) return NoSuchGroup(id);
  std::erase_if(rows_.assignments, [&](const GroupRole& each) { return each.group == id; });
  return absl::OkStatus();
}

absl::Status FakeGroups::AssignGroups(const std::vector<model::UserId>& users,
                                      const std::vector<int32_t>& add,
                                      const std::vector<int32_t>& remove) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  for (const std::vector<int32_t>* groups : {&add, &remove}) {
    for (const int32_t group : *groups) {
      if (!rows_.groups.contains(group)) return NoSuchGroup(group);
    }
  }
  for (const model::UserId user : users) {
    if (!IsUser(user)) return UserNotFound(user);
  }
  std::map<int32_t, GroupRecord> changed = rows_.groups;
  for (const int32_t group : add) {
    for (const model::UserId user : users) AddMember(changed[group], user);
  }
  bool removed = remove.empty();
  for (const int32_t group : remove) removed = RemoveMembers(changed[group], users) || removed;
  if (!removed) return NoMembers();
  rows_.groups = changed;
  return absl::OkStatus();
}

template <class Matches>
std::vector<GroupRole> FakeGroups::Select(const Matches& matches) const {
  std::vector<GroupRole> roles;
  std::copy_if(rows_.assignments.begin(), rows_.assignments.end(), std::back_inserter(roles),
               matches);
  return roles;  // the set is sorted by group, workspace and role
}

absl::StatusOr<std::vector<GroupRole>> FakeGroups::ListRolesOfGroup(int32_t group) {
  std::lock_guard lock(db_.mutex);
  return Select([&](const GroupRole& each) { return each.group == group; });
}

absl::StatusOr<std::vector<GroupRole>> FakeGroups::ListRolesInWorkspace(int32_t workspace) {
  std::lock_guard lock(db_.mutex);
  return Select([&](const GroupRole& each) { return each.workspace == workspace; });
}

absl::StatusOr<std::vector<GroupRole>> FakeGroups::ListRolesOfUser(model::UserId user) {
  std::lock_guard lock(db_.mutex);
  return Select([&](const GroupRole& each) { return IsMember(rows_.groups.at(each.group), user); });
}

absl::StatusOr<std::vector<GroupRole>> FakeGroups::ListGroupsWithRole(model::RoleId role) {
  std::lock_guard lock(db_.mutex);
  return Select([&](const GroupRole& each) { return each.role == role; });
}

absl::StatusOr<std::vector<RoleAssignment>> FakeGroups::ListUsersWithRole(model::RoleId role) {
  std::lock_guard lock(db_.mutex);
  std::vector<RoleAssignment> roles;
  for (const RoleAssignment& each : db_.access.roles) {
    if (each.role == role) roles.push_back(each);
  }
  return roles;
}

absl::Status FakeGroups::AddRoles(const std::vector<RoleAssignment>& users,
                                  const std::vector<GroupRole>& groups) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  for (const RoleAssignment& each : users) {
    if (!IsUser(each.user)) return UserNotFound(each.user);
    if (!IsRole(each.role)) return NoSuchRole(each.role);
  }
  for (const GroupRole& each : groups) {
    if (!rows_.groups.contains(each.group)) return NoSuchGroup(each.group);
    if (!IsRole(each.role)) return NoSuchRole(each.role);
  }
  db_.access.roles.insert(users.begin(), users.end());
  rows_.assignments.insert(groups.begin(), groups.end());
  return absl::OkStatus();
}

absl::Status FakeGroups::RemoveRoles(const std::vector<RoleAssignment>& users,
                                     const std::vector<GroupRole>& groups) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  for (const RoleAssignment& each : users) db_.access.roles.erase(each);
  for (const GroupRole& each : groups) rows_.assignments.erase(each);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<RoleRecord>> FakeGroups::ListRoles() {
  std::lock_guard lock(db_.mutex);
  std::vector<RoleRecord> roles;
  for (const auto& [id, role] : rows_.roles) roles.push_back(role);
  return roles;
}

absl::StatusOr<RoleRecord> FakeGroups::AddRole(const RoleRecord& role) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  if (IsRoleName(role.name, {})) return RoleExists(role.name);
  RoleRecord record = role;
  record.id = model::RoleId(rows_.next_role++);
  return rows_.roles[record.id] = record;
}

absl::Status FakeGroups::ChangeRole(const RoleRecord& role) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto it = rows_.roles.find(role.id);
  if (it == rows_.roles.end()) return NoSuchRole(role.id);
  if (IsRoleName(role.name, role.id)) return RoleExists(role.name);
  it->second = role;
  return absl::OkStatus();
}

absl::Status FakeGroups::DeleteRole(model::RoleId id) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  if (!rows_.roles.contains(id)) return NoSuchRole(id);
  const auto has_role = [&](const auto& each) { return each.role == id; };
  if (std::any_of(db_.access.roles.begin(), db_.access.roles.end(), has_role) ||
      std::any_of(rows_.assignments.begin(), rows_.assignments.end(), has_role)) {
    return RoleInUse(id);
  }
  rows_.roles.erase(id);
  return absl::OkStatus();
}

}  // namespace det::store
