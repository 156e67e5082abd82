// Users and their settings: a part of the contract suite in store_contract.h.
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "master/store/testing/make_rows.h"
#include "master/store/testing/store_contract.h"

namespace det::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Names(const absl::StatusOr<UserPage>& page) {
  std::vector<std::string> names;
  EXPECT_TRUE(page.ok()) << page.status();
  for (const UserRecord& user : page->users) names.push_back(user.username);
  return names;
}

UserRecord MakeUser(const std::string& name) {
  return {.username = name, .display_name = "Dr. " + name, .modified_at = TimeAt(1)};
}

TEST_P(StoreContractTest, StoresUsersCaseInsensitively) {
  Users& users = store_->users();
  UserRecord ann = MakeUser("Ann");
  ann.password_hash = "$x";
  ann.admin = true;
  ann.remote = true;
  ann.agent_user = AgentUser{.uid = 1000, .gid = 100, .user = "a\"nn", .group = "staff"};
  ann.last_auth_at = TimeAt(2);
  const auto added = users.AddUser(ann);
  ASSERT_TRUE(added.ok()) << added.status();
  ann.id = added->id;
  EXPECT_GT(ann.id.value(), 0);
  EXPECT_EQ(*added, ann);
  EXPECT_EQ(*users.GetUser(ann.id), ann);
  EXPECT_EQ(*backend_->Open()->users().GetUserByName("aNN"), ann);
  EXPECT_TRUE(absl::IsAlreadyExists(users.AddUser(MakeUser("ann")).status()));
  const auto odd = users.AddUser(MakeUser("Änne"));
  ASSERT_TRUE(odd.ok()) << odd.status();
  EXPECT_NE(odd->id, ann.id);
  EXPECT_EQ(users.GetUserByName("ÄNNE")->id, odd->id);
  EXPECT_TRUE(absl::IsNotFound(users.GetUserByName("nobody").status()));
  EXPECT_TRUE(absl::IsNotFound(users.GetUser(model::UserId(99)).status()));
}

TEST_P(StoreContractTest, AddsUserWithRole) {
  const auto ann = store_->users().AddUser(MakeUser("ann"), model::Role::kEditor);
  const auto ben = store_->users().AddUser(MakeUser("ben"));
  EXPECT_THAT(*store_->access().GetUserRoles(ann->id),
              ElementsAre(RoleAssignment{ann->id, kUncategorized, model::Role::kEditor}));
  EXPECT_THAT(*store_->access().GetUserRoles(ben->id), IsEmpty());
}

TEST_P(StoreContractTest, ChangesOnlySetFieldsOfUser) {
  Users& users = store_->users();
  UserRecord ann = *users.AddUser(MakeUser("ann"));
  const UserRecord ben = *users.AddUser(MakeUser("ben"));
  ann.display_name = "A.";
  ann.modified_at = TimeAt(5);
  EXPECT_EQ(*users.ChangeUser(ann.id, {.display_name = "A."}, TimeAt(5)), ann);
  ann.username = "ANN";
  ann.password_hash = "h";
  ann.admin = true;
  ann.active = false;
  ann.remote = true;
  ann.agent_user = AgentUser{.uid = 7};
  ann.display_name = "";
  EXPECT_EQ(*users.ChangeUser(ann.id,
                              {.username = "ANN",
                               .password_hash = "h",
                               .admin = true,
                               .active = false,
                               .display_name = "",
                               .remote = true,
                               .agent_user = ann.agent_user},
                              TimeAt(5)),
            ann);
  EXPECT_EQ(*users.GetUser(ann.id), ann);
  EXPECT_EQ(*users.GetUser(ben.id), ben);
  EXPECT_TRUE(
      absl::IsAlreadyExists(users.ChangeUser(ben.id, {.username = "Ann"}, TimeAt(6)).status()));
  EXPECT_TRUE(absl::IsNotFound(
      users.ChangeUser(model::UserId(99), {.display_name = ""}, TimeAt(6)).status()));

  ASSERT_TRUE(users.RecordLogin(ben.id, TimeAt(9)).ok());
  EXPECT_EQ(users.GetUser(ben.id)->last_auth_at, TimeAt(9));
  EXPECT_EQ(users.GetUser(ben.id)->modified_at, ben.modified_at);
  EXPECT_TRUE(users.RecordLogin(model::UserId(99), TimeAt(9)).ok());
}

TEST_P(StoreContractTest, KeepsLastActiveAdministrator) {
  Users& users = store_->users();
  UserRecord admin = MakeUser("admin");
  admin.admin = true;
  const UserRecord first = *users.AddUser(admin);
  admin.username = "idle";
  admin.active = false;
  const UserRecord idle = *users.AddUser(admin);
  for (const UserPatch& patch : {UserPatch{.admin = false}, UserPatch{.active = false}}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(users.ChangeUser(first.id, patch, TimeAt(2)).status()));
  }
  EXPECT_EQ(*users.GetUser(first.id), first);
  EXPECT_TRUE(users.ChangeUser(first.id, {.display_name = "x"}, TimeAt(2)).ok());
  EXPECT_TRUE(users.ChangeUser(idle.id, {.admin = false}, TimeAt(2)).ok());
  ASSERT_TRUE(users.ChangeUser(idle.id, {.admin = true, .active = true}, TimeAt(2)).ok());
  EXPECT_TRUE(users.ChangeUser(first.id, {.active = false}, TimeAt(2)).ok());
  EXPECT_TRUE(
      absl::IsFailedPrecondition(users.ChangeUser(idle.id, {.admin = false}, TimeAt(2)).status()));
}

TEST_P(StoreContractTest, KeepsOneOfTwoConcurrentlyRemovedAdministrators) {
  std::vector<model::UserId> ids;
  for (const char* name : {"one", "two"}) {
    UserRecord admin = MakeUser(name);
    admin.admin = true;
    ids.push_back(store_->users().AddUser(admin)->id);
  }
  std::vector<absl::Status> left(2);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      left[i] = store_->users().ChangeUser(ids[i], {.active = false}, TimeAt(3)).status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(left[0].ok(), left[1].ok()) << left[0] << ", " << left[1];
  EXPECT_EQ(store_->users().ListUsers({.active = true, .admin = true})->total, 1);
}

TEST_P(StoreContractTest, ListsUsersByFilterSortAndWindow) {
  Users& users = store_->users();
  UserRecord carl = MakeUser("Carl");
  carl.admin = true;
  carl.last_auth_at = TimeAt(7);
  UserRecord ann = MakeUser("ann");
  ann.active = false;
  ann.modified_at = TimeAt(9);
  UserRecord ben = MakeUser("ben");
  ben.display_name = "A. Ben";
  for (const UserRecord& user : {carl, ann, ben}) ASSERT_TRUE(users.AddUser(user).ok());

  EXPECT_THAT(Names(users.ListUsers({})), ElementsAre("Carl", "ann", "ben"));
  EXPECT_THAT(Names(users.ListUsers({.sort = UserQuery::Sort::kUsername})),
              ElementsAre("Carl", "ann", "ben"));
  EXPECT_THAT(Names(users.ListUsers({.sort = UserQuery::Sort::kDisplayName, .descending = true})),
              ElementsAre("ann", "Carl", "ben"));
  EXPECT_THAT(Names(users.ListUsers({.sort = UserQuery::Sort::kAdmin, .descending = true})),
              ElementsAre("Carl", "ben", "ann"));
  EXPECT_THAT(Names(users.ListUsers({.sort = UserQuery::Sort::kActive})),
              ElementsAre("ann", "Carl", "ben"));
  EXPECT_THAT(Names(users.ListUsers({.sort = UserQuery::Sort::kModifiedAt, .descending = true})),
              ElementsAre("ann", "ben", "Carl"));
  EXPECT_THAT(Names(users.ListUsers({.sort = UserQuery::Sort::kLastAuthAt})),
              ElementsAre("Carl", "ann", "ben"));
  EXPECT_THAT(Names(users.ListUsers({.sort = UserQuery::Sort::kRemote})),
              ElementsAre("Carl", "ann", "ben"));
  using model::Role;
  Access& access = store_->access();
  const model::UserId ben_id = users.GetUserByName("ben")->id;
  for (const Role role : {Role::kEditor, Role::kViewer}) {
    ASSERT_TRUE(access.AddRole({ben_id, 1, role}).ok());
    ASSERT_TRUE(access.AddRole({ben_id, 2, role}).ok());
  }
  EXPECT_THAT(Names(users.ListUsers({.roles = {Role::kEditor, Role::kViewer}})),
              ElementsAre("ben"));
  EXPECT_THAT(Names(users.ListUsers({.roles = {Role::kEditor, Role::kClusterAdmin}})),
              ElementsAre("Carl", "ben"));
  EXPECT_THAT(Names(users.ListUsers({.roles = {Role::kWorkspaceAdmin}})), IsEmpty());
  EXPECT_THAT(Names(users.ListUsers({.name = "CAR"})), ElementsAre("Carl"));
  EXPECT_THAT(Names(users.ListUsers({.name = "a. b"})), ElementsAre("ben"));
  EXPECT_THAT(Names(users.ListUsers({.name = "%"})), IsEmpty());
  EXPECT_THAT(Names(users.ListUsers({.active = true, .admin = false})), ElementsAre("ben"));
  const auto window = users.ListUsers({.window = {.offset = 1, .limit = 1}});
  EXPECT_THAT(Names(window), ElementsAre("ann"));
  EXPECT_EQ(window->total, 3);
}

TEST_P(StoreContractTest, KeepsSettingsPerUser) {
  Users& users = store_->users();
  const model::UserId ann(1);
  const model::UserId ben(2);
  const UserSetting theme{"ui", "theme", "\"dark\""};
  const UserSetting table{"experiments", "columns", "[1]"};
  ASSERT_TRUE(users.PutSettings(ann, {theme, table}).ok());
  ASSERT_TRUE(users.PutSettings(ben, {theme}).ok());
  ASSERT_TRUE(users.PutSettings(ben, {}).ok());
  EXPECT_THAT(*users.ListSettings(ann), ElementsAre(table, theme));
  ASSERT_TRUE(
      users.PutSettings(ann, {{"ui", "theme", "light"}, {"experiments", "columns", ""}}).ok());
  EXPECT_THAT(*users.ListSettings(ann), ElementsAre(UserSetting{"ui", "theme", "light"}));
  ASSERT_TRUE(users.DropSettings(ann).ok());
  EXPECT_THAT(*users.ListSettings(ann), IsEmpty());
  EXPECT_THAT(*users.ListSettings(ben), ElementsAre(theme));
}

}  // namespace
}  // namespace det::store
