// Users and their settings, as every Store keeps them; a part of the suite in store_contract.h.
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "master/store/testing/make.h"
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

TEST_P(StoreContractTest, UsersAreKeptByNameInAnyCase) {
  People& people = store_->people();
  UserRecord ann = MakeUser("Ann");
  ann.password_hash = "$x";
  ann.admin = true;
  ann.remote = true;
  ann.agent_user = AgentUser{.uid = 1000, .gid = 100, .user = "a\"nn", .group = "staff"};
  ann.last_auth_at = TimeAt(2);
  const auto added = people.AddUser(ann);
  ASSERT_TRUE(added.ok()) << added.status();
  ann.id = added->id;
  EXPECT_GT(ann.id.value(), 0);
  EXPECT_EQ(*added, ann);
  EXPECT_EQ(*people.GetUser(ann.id), ann);
  EXPECT_EQ(*backend_->Open()->people().GetUserByName("aNN"), ann);
  EXPECT_TRUE(absl::IsAlreadyExists(people.AddUser(MakeUser("ann")).status()));
  const auto odd = people.AddUser(MakeUser("Änne"));
  ASSERT_TRUE(odd.ok()) << odd.status();
  EXPECT_NE(odd->id, ann.id);
  EXPECT_EQ(people.GetUserByName("ÄNNE")->id, odd->id);
  EXPECT_TRUE(absl::IsNotFound(people.GetUserByName("nobody").status()));
  EXPECT_TRUE(absl::IsNotFound(people.GetUser(model::UserId(99)).status()));
}

TEST_P(StoreContractTest, AUserIsAddedWithARole) {
  const auto ann = store_->people().AddUser(MakeUser("ann"), model::Role::kEditor);
  const auto ben = store_->people().AddUser(MakeUser("ben"));
  EXPECT_THAT(*store_->access().RolesOf(ann->id),
              ElementsAre(RoleAssignment{ann->id, kUncategorized, model::Role::kEditor}));
  EXPECT_THAT(*store_->access().RolesOf(ben->id), IsEmpty());
}

TEST_P(StoreContractTest, OnlyWhatIsSetChangesOfAUser) {
  People& people = store_->people();
  UserRecord ann = *people.AddUser(MakeUser("ann"));
  const UserRecord ben = *people.AddUser(MakeUser("ben"));
  ann.display_name = "A.";
  ann.modified_at = TimeAt(5);
  EXPECT_EQ(*people.ChangeUser(ann.id, {.display_name = "A."}, TimeAt(5)), ann);
  ann.username = "ANN";
  ann.password_hash = "h";
  ann.admin = true;
  ann.active = false;
  ann.remote = true;
  ann.agent_user = AgentUser{.uid = 7};
  ann.display_name = "";
  EXPECT_EQ(*people.ChangeUser(ann.id,
                               {.username = "ANN",
                                .password_hash = "h",
                                .admin = true,
                                .active = false,
                                .display_name = "",
                                .remote = true,
                                .agent_user = ann.agent_user},
                               TimeAt(5)),
            ann);
  EXPECT_EQ(*people.GetUser(ann.id), ann);
  EXPECT_EQ(*people.GetUser(ben.id), ben);
  EXPECT_TRUE(
      absl::IsAlreadyExists(people.ChangeUser(ben.id, {.username = "Ann"}, TimeAt(6)).status()));
  EXPECT_TRUE(absl::IsNotFound(
      people.ChangeUser(model::UserId(99), {.display_name = ""}, TimeAt(6)).status()));

  ASSERT_TRUE(people.NoteLogin(ben.id, TimeAt(9)).ok());
  EXPECT_EQ(people.GetUser(ben.id)->last_auth_at, TimeAt(9));
  EXPECT_EQ(people.GetUser(ben.id)->modified_at, ben.modified_at);
  EXPECT_TRUE(people.NoteLogin(model::UserId(99), TimeAt(9)).ok());
}

TEST_P(StoreContractTest, TheLastActiveAdministratorStays) {
  People& people = store_->people();
  UserRecord admin = MakeUser("admin");
  admin.admin = true;
  const UserRecord first = *people.AddUser(admin);
  admin.username = "idle";
  admin.active = false;
  const UserRecord idle = *people.AddUser(admin);
  for (const UserPatch& patch : {UserPatch{.admin = false}, UserPatch{.active = false}}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(people.ChangeUser(first.id, patch, TimeAt(2)).status()));
  }
  EXPECT_EQ(*people.GetUser(first.id), first);
  EXPECT_TRUE(people.ChangeUser(first.id, {.display_name = "x"}, TimeAt(2)).ok());
  EXPECT_TRUE(people.ChangeUser(idle.id, {.admin = false}, TimeAt(2)).ok());
  ASSERT_TRUE(people.ChangeUser(idle.id, {.admin = true, .active = true}, TimeAt(2)).ok());
  EXPECT_TRUE(people.ChangeUser(first.id, {.active = false}, TimeAt(2)).ok());
  EXPECT_TRUE(
      absl::IsFailedPrecondition(people.ChangeUser(idle.id, {.admin = false}, TimeAt(2)).status()));
}

TEST_P(StoreContractTest, OfTwoAdministratorsWhoLeaveTogetherOneStays) {
  std::vector<model::UserId> ids;
  for (const char* name : {"one", "two"}) {
    UserRecord admin = MakeUser(name);
    admin.admin = true;
    ids.push_back(store_->people().AddUser(admin)->id);
  }
  std::vector<absl::Status> left(2);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      left[i] = store_->people().ChangeUser(ids[i], {.active = false}, TimeAt(3)).status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(left[0].ok(), left[1].ok()) << left[0] << ", " << left[1];
  EXPECT_EQ(store_->people().ListUsers({.active = true, .admin = true})->total, 1);
}

TEST_P(StoreContractTest, UsersAreListedByFilterSortAndWindow) {
  People& people = store_->people();
  UserRecord carl = MakeUser("Carl");
  carl.admin = true;
  carl.last_auth_at = TimeAt(7);
  UserRecord ann = MakeUser("ann");
  ann.active = false;
  ann.modified_at = TimeAt(9);
  UserRecord ben = MakeUser("ben");
  ben.display_name = "A. Ben";
  for (const UserRecord& user : {carl, ann, ben}) ASSERT_TRUE(people.AddUser(user).ok());

  EXPECT_THAT(Names(people.ListUsers({})), ElementsAre("Carl", "ann", "ben"));
  EXPECT_THAT(Names(people.ListUsers({.sort = UserQuery::Sort::kUsername})),
              ElementsAre("Carl", "ann", "ben"));
  EXPECT_THAT(Names(people.ListUsers({.sort = UserQuery::Sort::kDisplayName, .descending = true})),
              ElementsAre("ann", "Carl", "ben"));
  EXPECT_THAT(Names(people.ListUsers({.sort = UserQuery::Sort::kAdmin, .descending = true})),
              ElementsAre("Carl", "ben", "ann"));
  EXPECT_THAT(Names(people.ListUsers({.sort = UserQuery::Sort::kActive})),
              ElementsAre("ann", "Carl", "ben"));
  EXPECT_THAT(Names(people.ListUsers({.sort = UserQuery::Sort::kModifiedAt, .descending = true})),
              ElementsAre("ann", "ben", "Carl"));
  EXPECT_THAT(Names(people.ListUsers({.sort = UserQuery::Sort::kLastAuthAt})),
              ElementsAre("Carl", "ann", "ben"));
  EXPECT_THAT(Names(people.ListUsers({.sort = UserQuery::Sort::kRemote})),
              ElementsAre("Carl", "ann", "ben"));
  using model::Role;
  Access& access = store_->access();
  const model::UserId ben_id = people.GetUserByName("ben")->id;
  for (const Role role : {Role::kEditor, Role::kViewer}) {
    ASSERT_TRUE(access.AddRole({ben_id, 1, role}).ok());
    ASSERT_TRUE(access.AddRole({ben_id, 2, role}).ok());
  }
  EXPECT_THAT(Names(people.ListUsers({.roles = {Role::kEditor, Role::kViewer}})),
              ElementsAre("ben"));
  EXPECT_THAT(Names(people.ListUsers({.roles = {Role::kEditor, Role::kClusterAdmin}})),
              ElementsAre("Carl", "ben"));
  EXPECT_THAT(Names(people.ListUsers({.roles = {Role::kWorkspaceAdmin}})), IsEmpty());
  EXPECT_THAT(Names(people.ListUsers({.name = "CAR"})), ElementsAre("Carl"));
  EXPECT_THAT(Names(people.ListUsers({.name = "a. b"})), ElementsAre("ben"));
  EXPECT_THAT(Names(people.ListUsers({.name = "%"})), IsEmpty());
  EXPECT_THAT(Names(people.ListUsers({.active = true, .admin = false})), ElementsAre("ben"));
  const auto window = people.ListUsers({.window = {.offset = 1, .limit = 1}});
  EXPECT_THAT(Names(window), ElementsAre("ann"));
  EXPECT_EQ(window->total, 3);
}

TEST_P(StoreContractTest, SettingsAreEachUsersOwn) {
  People& people = store_->people();
  const model::UserId ann(1);
  const model::UserId ben(2);
  const UserSetting theme{"ui", "theme", "\"dark\""};
  const UserSetting table{"experiments", "columns", "[1]"};
  ASSERT_TRUE(people.PutSettings(ann, {theme, table}).ok());
  ASSERT_TRUE(people.PutSettings(ben, {theme}).ok());
  ASSERT_TRUE(people.PutSettings(ben, {}).ok());
  EXPECT_THAT(*people.ListSettings(ann), ElementsAre(table, theme));
  ASSERT_TRUE(
      people.PutSettings(ann, {{"ui", "theme", "light"}, {"experiments", "columns", ""}}).ok());
  EXPECT_THAT(*people.ListSettings(ann), ElementsAre(UserSetting{"ui", "theme", "light"}));
  ASSERT_TRUE(people.DropSettings(ann).ok());
  EXPECT_THAT(*people.ListSettings(ann), IsEmpty());
  EXPECT_THAT(*people.ListSettings(ben), ElementsAre(theme));
}

}  // namespace
}  // namespace det::store
