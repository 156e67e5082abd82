// Sessions, access tokens and roles: a part of the contract suite in store_contract.h.
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "master/store/testing/make_rows.h"
#include "master/store/testing/store_contract.h"

namespace det::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = SessionRecord::Kind;

const model::UserId kAnn(3);
const model::UserId kBen(4);

std::vector<std::string> Hashes(const absl::StatusOr<TokenPage>& page) {
  std::vector<std::string> hashes;
  EXPECT_TRUE(page.ok()) << page.status();
  for (const SessionRecord& token : page->tokens) hashes.push_back(token.token_hash);
  return hashes;
}

bool IsThere(Store& store, const std::string& hash) {
  return store.access().GetSession(hash, TimeAt(0)).ok();
}

TEST_P(StoreContractTest, ExpiresSessions) {
  Access& access = store_->access();
  const auto agent = access.PutSession({.token_hash = "a", .kind = Kind::kAgent});
  const auto user = access.PutSession(
      {.token_hash = "u", .user = kAnn, .expires_at = TimeAt(10), .created_at = TimeAt(1)});
  ASSERT_TRUE(agent.ok() && user.ok()) << user.status();
  EXPECT_NE(*agent, *user);
  EXPECT_EQ(access.GetSession("a", TimeAt(1e9))->kind, Kind::kAgent);
  const SessionRecord session = *access.GetSession("u", TimeAt(9));
  EXPECT_EQ(session.id, *user);
  EXPECT_EQ(session.kind, Kind::kUser);
  EXPECT_EQ(session.user, kAnn);
  EXPECT_EQ(session.expires_at, TimeAt(10));
  EXPECT_EQ(session.created_at, TimeAt(1));
  EXPECT_TRUE(absl::IsNotFound(access.GetSession("u", TimeAt(10)).status()));
  EXPECT_EQ(*access.PutSession({.token_hash = "u", .user = kBen}), *user);
  EXPECT_EQ(access.GetSession("u", TimeAt(10))->user, kBen);
  ASSERT_TRUE(access.DeleteSession("a").ok());
  ASSERT_TRUE(access.DeleteSession("a").ok());
  EXPECT_TRUE(absl::IsNotFound(access.GetSession("a", TimeAt(0)).status()));
}

TEST_P(StoreContractTest, DeletesLoginsOfUser) {
  Access& access = store_->access();
  const auto put = [&](const char* hash, Kind kind, model::UserId user, bool ends) {
    SessionRecord session{.token_hash = hash, .kind = kind, .user = user};
    if (ends) session.expires_at = TimeAt(10);
    ASSERT_TRUE(access.PutSession(session).ok());
  };
  put("this", Kind::kUser, kAnn, true);
  put("other", Kind::kUser, kAnn, true);
  put("file", Kind::kUser, kAnn, false);
  put("token", Kind::kAccess, kAnn, true);
  put("agent", Kind::kAgent, kAnn, false);
  put("ben", Kind::kUser, kBen, true);

  ASSERT_TRUE(access.DeleteLogins(kAnn, "this").ok());
  EXPECT_FALSE(IsThere(*store_, "other"));
  for (const char* hash : {"this", "file", "token", "agent", "ben"}) {
    EXPECT_TRUE(IsThere(*store_, hash)) << hash;
  }
  ASSERT_TRUE(access.DeleteSession("token").ok());
  EXPECT_TRUE(IsThere(*store_, "token")) << "access tokens are revoked instead";
  ASSERT_TRUE(access.DeleteUserSessions(kAnn).ok());
  for (const char* hash : {"this", "file", "token"}) EXPECT_FALSE(IsThere(*store_, hash)) << hash;
  EXPECT_TRUE(IsThere(*store_, "agent"));
  EXPECT_TRUE(IsThere(*store_, "ben"));
}

TEST_P(StoreContractTest, ListsDescribesAndRevokesAccessTokens) {
  Access& access = store_->access();
  SessionRecord one{.token_hash = "one",
                    .kind = Kind::kAccess,
                    .user = kBen,
                    .expires_at = TimeAt(20),
                    .description = "b",
                    .limit = model::Role::kViewer,
                    .created_at = TimeAt(2)};
  SessionRecord two{.token_hash = "two",
                    .kind = Kind::kAccess,
                    .user = kAnn,
                    .expires_at = {},
                    .description = "a",
                    .created_at = TimeAt(1)};
  one.id = *access.PutSession(one);
  two.id = *access.PutSession(two);
  ASSERT_TRUE(access.PutSession({.token_hash = "login", .user = kAnn}).ok());

  const SessionRecord back = *access.GetSession("one", TimeAt(19));
  EXPECT_EQ(back.kind, Kind::kAccess);
  EXPECT_EQ(back.limit, model::Role::kViewer);
  EXPECT_EQ(back.description, "b");
  EXPECT_EQ(back.last_used_at, std::nullopt);
  ASSERT_TRUE(access.RecordUse("one", TimeAt(5)).ok());
  EXPECT_EQ(access.GetSession("one", TimeAt(19))->last_used_at, TimeAt(5));

  using Sort = TokenQuery::Sort;
  EXPECT_THAT(Hashes(access.ListTokens({})), ElementsAre("one", "two"));
  EXPECT_THAT(Hashes(access.ListTokens({.descending = true})), ElementsAre("two", "one"));
  for (const Sort sort : {Sort::kUser, Sort::kCreatedAt, Sort::kDescription}) {
    EXPECT_THAT(Hashes(access.ListTokens({.sort = sort})), ElementsAre("two", "one"));
  }
  EXPECT_THAT(Hashes(access.ListTokens({.sort = Sort::kExpiry, .descending = true})),
              ElementsAre("one", "two"));
  EXPECT_THAT(Hashes(access.ListTokens({.ids = {two.id, 99}})), ElementsAre("two"));
  EXPECT_THAT(Hashes(access.ListTokens({.user = kBen})), ElementsAre("one"));
  EXPECT_THAT(Hashes(access.ListTokens({.active_at = TimeAt(20)})), ElementsAre("two"));
  const auto window = access.ListTokens({.window = {.offset = 1, .limit = 5}});
  EXPECT_THAT(Hashes(window), ElementsAre("two"));
  EXPECT_EQ(window->total, 2);

  EXPECT_EQ(access.ChangeToken(two.id, "new", false)->description, "new");
  EXPECT_TRUE(access.ChangeToken(two.id, std::nullopt, true)->revoked);
  const SessionRecord revoked = *access.ChangeToken(two.id, std::nullopt, false);
  EXPECT_TRUE(revoked.revoked);
  EXPECT_EQ(revoked.description, "new");
  EXPECT_FALSE(IsThere(*store_, "two"));
  EXPECT_THAT(Hashes(access.ListTokens({.active_at = TimeAt(0)})), ElementsAre("one"));
  EXPECT_THAT(Hashes(access.ListTokens({.sort = Sort::kRevoked})), ElementsAre("one", "two"));
  EXPECT_TRUE(absl::IsNotFound(access.ChangeToken(99, "x", true).status()));
}

TEST_P(StoreContractTest, DistinguishesLoginsFromAccessTokens) {
  const auto id = store_->access().PutSession({.token_hash = "login", .user = kAnn});
  EXPECT_TRUE(absl::IsNotFound(store_->access().ChangeToken(*id, "x", true).status()));
  EXPECT_THAT(Hashes(store_->access().ListTokens({})), IsEmpty());
}

TEST_P(StoreContractTest, StoresRolesOnce) {
  Access& access = store_->access();
  const RoleAssignment viewer{kAnn, 2, model::Role::kViewer};
  const RoleAssignment editor{kAnn, 2, model::Role::kEditor};
  const RoleAssignment everywhere{kAnn, 0, model::Role::kWorkspaceAdmin};
  const RoleAssignment bens{kBen, 2, model::Role::kViewer};
  for (const RoleAssignment& each : {bens, editor, viewer, everywhere, viewer}) {
    ASSERT_TRUE(access.AddRole(each).ok());
  }
  EXPECT_THAT(*access.GetUserRoles(kAnn), ElementsAre(everywhere, viewer, editor));
  EXPECT_THAT(*access.GetWorkspaceRoles(2), ElementsAre(viewer, editor, bens));
  ASSERT_TRUE(access.RemoveRole(viewer).ok());
  ASSERT_TRUE(access.RemoveRole(viewer).ok());
  EXPECT_THAT(*access.GetWorkspaceRoles(2), ElementsAre(editor, bens));
  EXPECT_THAT(*access.GetWorkspaceRoles(3), IsEmpty());
}

}  // namespace
}  // namespace det::store
