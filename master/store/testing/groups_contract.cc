// Groups, their roles and created roles.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/store/testing/store_contract.h"

namespace det::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<model::UserId> AddUsers(Store& store) {
  std::vector<model::UserId> users;
  for (const char* name : {"ann", "ben", "cleo"}) {
    const auto user = store.users().AddUser({.username = name});
    EXPECT_TRUE(user.ok());
    users.push_back(user->id);
  }
  return users;
}

int32_t Add(Groups& groups, const std::string& name,
            const std::vector<model::UserId>& members = {}) {
  const auto group = groups.AddGroup(name, members);
  EXPECT_TRUE(group.ok()) << group.status();
  return group.ok() ? group->id : 0;
}

std::vector<int32_t> List(Groups& groups, const GroupQuery& query) {
  const auto page = groups.ListGroups(query);
  EXPECT_TRUE(page.ok()) << page.status();
  std::vector<int32_t> ids;
  for (const GroupRecord& group : page->groups) ids.push_back(group.id);
  return ids;
}

TEST_P(StoreContractTest, AddsGroupsWithMembers) {
  Groups& groups = store_->groups();
  const auto users = AddUsers(*store_);
  const auto ops = groups.AddGroup("ops", {users[2], users[0], users[2]});
  ASSERT_TRUE(ops.ok()) << ops.status();
  EXPECT_EQ(ops->name, "ops");
  EXPECT_THAT(ops->members, ElementsAre(users[0], users[2]));
  EXPECT_EQ(*groups.GetGroup(ops->id), *ops);

  EXPECT_TRUE(absl::IsAlreadyExists(groups.AddGroup("ops", {}).status()));
  EXPECT_NE(Add(groups, "OPS"), ops->id);
  EXPECT_TRUE(absl::IsNotFound(groups.AddGroup("ghosts", {model::UserId(99)}).status()));
  EXPECT_THAT(List(groups, {.name = "ghosts"}), IsEmpty())
      << "nothing is added if a user is missing";
  EXPECT_TRUE(absl::IsNotFound(groups.GetGroup(99).status()));
}

TEST_P(StoreContractTest, ListsGroupsByNameAndMember) {
  Groups& groups = store_->groups();
  const auto users = AddUsers(*store_);
  const int32_t a = Add(groups, "a", {users[0]});
  const int32_t b = Add(groups, "b", {users[0], users[1]});
  const int32_t c = Add(groups, "c");
  EXPECT_THAT(List(groups, {}), ElementsAre(a, b, c));
  EXPECT_THAT(List(groups, {.name = "b"}), ElementsAre(b));
  EXPECT_THAT(List(groups, {.user = users[0]}), ElementsAre(a, b));
  EXPECT_THAT(List(groups, {.user = model::UserId(99)}), IsEmpty());
  EXPECT_THAT(List(groups, {.window = {.offset = 1, .limit = 1}}), ElementsAre(b));
  EXPECT_EQ(groups.ListGroups({.window = {.limit = 1}})->total, 3);
}

TEST_P(StoreContractTest, ChangesGroupsAllOrNothing) {
  Groups& groups = store_->groups();
  const auto users = AddUsers(*store_);
  const int32_t id = Add(groups, "ops", {users[0]});
  Add(groups, "science");
  const auto changed = groups.ChangeGroup(
      id, {.name = "operations", .add = {users[1]}, .remove = {users[0], users[2]}});
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->name, "operations");
  EXPECT_THAT(changed->members, ElementsAre(users[1]));

  EXPECT_TRUE(absl::IsNotFound(groups.ChangeGroup(99, {}).status()));
  EXPECT_TRUE(absl::IsAlreadyExists(groups.ChangeGroup(id, {.name = "science"}).status()));
  EXPECT_TRUE(absl::IsAlreadyExists(
      groups.ChangeGroup(id, {.name = "x", .add = {users[0], users[1]}}).status()));
  EXPECT_TRUE(
      absl::IsNotFound(groups.ChangeGroup(id, {.name = "x", .add = {model::UserId(99)}}).status()));
  EXPECT_TRUE(
      absl::IsNotFound(groups.ChangeGroup(id, {.name = "x", .remove = {users[2]}}).status()));
  EXPECT_EQ(*groups.GetGroup(id), *changed);
  EXPECT_EQ(*groups.ChangeGroup(id, {}), *changed);
}

TEST_P(StoreContractTest, AssignsUsersToGroupsAllOrNothing) {
  Groups& groups = store_->groups();
  const auto users = AddUsers(*store_);
  const int32_t a = Add(groups, "a", {users[0]});
  const int32_t b = Add(groups, "b", {users[1]});
  ASSERT_TRUE(groups.AssignGroups({users[0], users[1]}, {a}, {b}).ok());
  EXPECT_THAT(groups.GetGroup(a)->members, ElementsAre(users[0], users[1]));
  EXPECT_THAT(groups.GetGroup(b)->members, IsEmpty());

  EXPECT_TRUE(groups.AssignGroups({}, {}, {}).ok());
  EXPECT_TRUE(absl::IsNotFound(groups.AssignGroups({users[2]}, {a, 99}, {})));
  EXPECT_TRUE(absl::IsNotFound(groups.AssignGroups({users[2], model::UserId(99)}, {a}, {})));
  EXPECT_TRUE(absl::IsNotFound(groups.AssignGroups({users[2]}, {a}, {b})));
  EXPECT_THAT(groups.GetGroup(a)->members, ElementsAre(users[0], users[1]));
}

TEST_P(StoreContractTest, StoresRolesOfGroupsAndDeletesThemWithTheGroup) {
  Groups& groups = store_->groups();
  const auto users = AddUsers(*store_);
  const int32_t a = Add(groups, "a", {users[0]});
  const int32_t b = Add(groups, "b", {users[0], users[1]});
  const GroupRole editor{a, 2, model::Role::kEditor};
  const GroupRole creator{b, 0, model::kWorkspaceCreator};
  const RoleAssignment viewer{users[2], 2, model::Role::kViewer};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(groups.AddRoles({viewer}, {editor, creator}).ok()) << "the second time, too";
  }
  EXPECT_THAT(*groups.ListRolesOfGroup(a), ElementsAre(editor));
  EXPECT_THAT(*groups.ListRolesInWorkspace(2), ElementsAre(editor));
  EXPECT_THAT(*groups.ListRolesOfUser(users[0]), ElementsAre(editor, creator));
  EXPECT_THAT(*groups.ListRolesOfUser(users[2]), IsEmpty());
  EXPECT_THAT(*groups.ListGroupsWithRole(model::kWorkspaceCreator), ElementsAre(creator));
  EXPECT_THAT(*groups.ListUsersWithRole(model::Role::kViewer), ElementsAre(viewer));
  EXPECT_THAT(*store_->access().GetUserRoles(users[2]), ElementsAre(viewer));

  EXPECT_TRUE(absl::IsNotFound(
      groups.AddRoles({{users[1], 0, model::Role::kViewer}}, {{99, 0, model::Role::kViewer}})));
  EXPECT_TRUE(absl::IsNotFound(groups.AddRoles({{users[1], 0, model::RoleId(999)}}, {})));
  EXPECT_THAT(*store_->access().GetUserRoles(users[1]), IsEmpty());

  ASSERT_TRUE(groups.RemoveRoles({viewer}, {editor}).ok());
  ASSERT_TRUE(groups.RemoveRoles({viewer}, {editor}).ok());
  EXPECT_THAT(*groups.ListRolesOfGroup(a), IsEmpty());
  EXPECT_THAT(*store_->access().GetUserRoles(users[2]), IsEmpty());

  ASSERT_TRUE(groups.DeleteGroup(b).ok());
  EXPECT_TRUE(absl::IsNotFound(groups.DeleteGroup(b)));
  EXPECT_THAT(*groups.ListRolesOfUser(users[0]), IsEmpty());
  EXPECT_NE(Add(groups, "b"), b) << "ids are not reused";
}

TEST_P(StoreContractTest, StoresCreatedRoles) {
  Groups& groups = store_->groups();
  const auto users = AddUsers(*store_);
  model::PermissionSet permissions;
  permissions.insert(model::Permission::kViewExperimentMetadata);
  permissions.insert(model::Permission::kUpdateExperiment);
  const auto role = groups.AddRole({.name = "Operator", .permissions = permissions});
  ASSERT_TRUE(role.ok()) << role.status();
  EXPECT_TRUE(role->id.is_created());
  EXPECT_THAT(*groups.ListRoles(), ElementsAre(*role));
  EXPECT_TRUE(absl::IsAlreadyExists(groups.AddRole({.name = "Operator"}).status()));

  const auto other = groups.AddRole({.name = "Other", .permissions = permissions});
  RoleRecord changed = *other;
  changed.name = "Operator";
  EXPECT_TRUE(absl::IsAlreadyExists(groups.ChangeRole(changed)));
  changed.name = "Auditor";
  changed.permissions.erase(model::Permission::kUpdateExperiment);
  ASSERT_TRUE(groups.ChangeRole(changed).ok());
  EXPECT_THAT(*groups.ListRoles(), ElementsAre(*role, changed));

  ASSERT_TRUE(groups.AddRoles({{users[0], 0, role->id}}, {}).ok());
  EXPECT_THAT(*store_->access().GetUserRoles(users[0]),
              ElementsAre(RoleAssignment{users[0], 0, role->id}));
  EXPECT_TRUE(absl::IsFailedPrecondition(groups.DeleteRole(role->id)));
  ASSERT_TRUE(groups.DeleteRole(other->id).ok());
  EXPECT_TRUE(absl::IsNotFound(groups.DeleteRole(other->id)));
  EXPECT_TRUE(absl::IsNotFound(groups.ChangeRole(changed)));
}

}  // namespace
}  // namespace det::store
