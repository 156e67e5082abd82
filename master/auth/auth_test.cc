#include <sys/stat.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "base/clock.h"
#include "base/file.h"
#include "gtest/gtest.h"
#include "master/auth/authenticator.h"
#include "master/auth/first_start.h"
#include "master/auth/passwords.h"
#include "master/auth/permissions.h"
#include "master/auth/tokens.h"
#include "master/store/fake_store.h"

namespace det::auth {
namespace {

TEST(PermissionsTest, EveryKindOfPrincipalOnEveryKindOfMethod) {
  using enum PrincipalKind;
  const std::vector<PrincipalKind> all = {kNobody, kUser, kAgent, kAllocation};
  const struct {
    std::string method;
    std::vector<PrincipalKind> allowed;
  } rows[] = {
      {"det.api.v1.MasterService.GetInfo", all},
      {"det.api.v1.MasterService.GetHealth", all},
      {"det.api.v1.AuthService.Login", all},
      {"det.api.v1.AuthService.LoginAs", {kUser}},
      {"grpc.health.v1.Health.Check", all},
      {"det.api.v1.AuthService.Logout", {kUser}},
      {"det.api.v1.ExperimentService.CreateExperiment", {kUser}},
      {"det.api.v1.TrialService.TrialLogs", {kUser}},
      {"det.agent.v1.AgentHub.Connect", {kAgent}},
      {"det.agent.v1.AgentHub.PostLogs", {kAgent}},
      {"det.trial.v1.TrialRuntime.ReportMetrics", {kAllocation}},
      {"det.api.v1.AgentService.GetAgents", {kUser}},
      {"det.api.v1.AgentService.DisableAgent", {kUser}},
      {"det.api.v1.ResourcePoolService.PutQuota", {kUser}},
      {"det.other.v1.Thing.Do", {}},
      {"", {}},
  };
  for (const auto& row : rows) {
    for (const PrincipalKind kind : all) {
      const bool expected =
          std::find(row.allowed.begin(), row.allowed.end(), kind) != row.allowed.end();
      const absl::Status status = Authorize(row.method, {.kind = kind, .admin = true});
      EXPECT_EQ(status.ok(), expected) << row.method << " " << static_cast<int>(kind);
      if (!expected && !row.allowed.empty()) {
        EXPECT_EQ(status.code(), kind == kNobody ? absl::StatusCode::kUnauthenticated
                                                 : absl::StatusCode::kPermissionDenied);
      }
    }
  }
}

TEST(PrincipalTest, ARoleForTheClusterHoldsInEveryWorkspace) {
  using enum model::Role;
  const Principal some{.kind = PrincipalKind::kUser,
                       .roles = {{1, kEditor}, {1, kViewer}, {2, kWorkspaceAdmin}}};
  EXPECT_EQ(some.RoleIn(0), kNone);
  EXPECT_EQ(some.RoleIn(1), kEditor);
  EXPECT_EQ(some.RoleIn(2), kWorkspaceAdmin);
  EXPECT_EQ(some.RoleIn(3), kNone);
  EXPECT_FALSE(some.Sees(3));
  EXPECT_EQ(some.RoleAnywhere(), kWorkspaceAdmin);
  const Principal all{.kind = PrincipalKind::kUser, .roles = {{0, kViewer}, {1, kEditor}}};
  EXPECT_EQ(all.RoleIn(0), kViewer);
  EXPECT_EQ(all.RoleIn(1), kEditor);
  EXPECT_EQ(all.RoleIn(9), kViewer);
  const Principal admin{.kind = PrincipalKind::kUser, .admin = true};
  EXPECT_EQ(admin.RoleIn(9), kClusterAdmin);
  EXPECT_EQ(Principal{}.RoleAnywhere(), kNone);
}

TEST(PrincipalTest, ATokenMayBeBoundToALesserRole) {
  using enum model::Role;
  const Principal bound{.kind = PrincipalKind::kUser, .admin = true, .limit = kViewer};
  EXPECT_EQ(bound.RoleIn(0), kViewer);
  EXPECT_TRUE(Authorize("det.api.v1.AuthService.GetMe", bound).ok());
  EXPECT_TRUE(Authorize("det.api.v1.AgentService.GetAgents", bound).ok());
  for (const char* method :
       {"det.api.v1.UserService.SetUserPassword", "det.api.v1.TokenService.PostAccessToken",
        "det.api.v1.AgentService.DisableAgent", "det.api.v1.ExperimentService.KillExperiment"}) {
    EXPECT_TRUE(absl::IsPermissionDenied(Authorize(method, bound))) << method;
  }
  const Principal above{
      .kind = PrincipalKind::kUser, .limit = kClusterAdmin, .roles = {{1, kViewer}}};
  EXPECT_EQ(above.RoleIn(1), kViewer);
}

TEST(PermissionsTest, MachinesPoolsAndQuotasAreChangedByAdministratorsAlone) {
  const std::pair<const char*, bool> rows[] = {
      {"det.api.v1.AgentService.GetAgents", false},
      {"det.api.v1.AgentService.DisableAgent", true},
      {"det.api.v1.AgentService.SetMaintenance", true},
      {"det.api.v1.ResourcePoolService.GetQuotas", false},
      {"det.api.v1.ResourcePoolService.ListWorkspacesBoundToRP", false},
      {"det.api.v1.ResourcePoolService.BindRPToWorkspace", true},
      {"det.api.v1.ResourcePoolService.PutQuota", true},
      {"det.api.v1.JobService.UpdateJobQueue", false},
  };
  const Principal editor{.kind = PrincipalKind::kUser, .roles = {{1, model::Role::kEditor}}};
  for (const auto& [method, admin] : rows) {
    const absl::Status status = Authorize(method, editor);
    EXPECT_EQ(absl::IsPermissionDenied(status), admin) << method;
    EXPECT_EQ(absl::StrContains(status.message(), "the role ClusterAdmin for the cluster"), admin)
        << status;
    EXPECT_TRUE(Authorize(method, {.kind = PrincipalKind::kUser, .admin = true}).ok()) << method;
    EXPECT_TRUE(absl::IsPermissionDenied(Authorize(method, {.kind = PrincipalKind::kUser})))
        << method << " by a user without a role";
  }
}

TEST(TokensTest, AreDifferentAndSafeInAHeader) {
  const std::string a = NewToken();
  EXPECT_NE(a, NewToken());
  EXPECT_EQ(a.size(), 43u);
  EXPECT_EQ(a.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
            std::string::npos);
  EXPECT_EQ(HashToken("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(TokensTest, AnAllocationsTokenIsGoodForItAloneAndOfOneClusterAlone) {
  const AllocationTokens tokens("secret");
  const model::AllocationId id("3.7.0");
  const std::string token = tokens.Make(id);
  EXPECT_EQ(tokens.Verify(token), id);
  EXPECT_EQ(AllocationTokens("another").Verify(token), std::nullopt);
  EXPECT_EQ(tokens.Verify("3.7.1" + token.substr(5)), std::nullopt);
  std::string damaged = token;
  damaged.back() = damaged.back() == '0' ? '1' : '0';
  for (const std::string& bad :
       {damaged, token + "0", std::string("3.7.0"), std::string("."), std::string(), NewToken()}) {
    EXPECT_EQ(tokens.Verify(bad), std::nullopt) << bad;
  }
}

TEST(PasswordsTest, MatchOnlyTheirOwnHash) {
  const auto hash = HashPassword("geheim");
  ASSERT_TRUE(hash.ok());
  EXPECT_EQ(hash->find("$argon2id$"), 0u);
  EXPECT_TRUE(PasswordMatches("geheim", *hash));
  EXPECT_FALSE(PasswordMatches("Geheim", *hash));
  EXPECT_FALSE(PasswordMatches("", ""));
}

class AuthenticatorTest : public testing::Test {
 protected:
  void AddSession(const std::string& token, store::SessionRecord session) {
    session.token_hash = HashToken(token);
    ASSERT_TRUE(store_.PutSession(session).ok());
  }

  store::FakeStore store_;
  base::FakeClock clock_;
  AllocationTokens tokens_{"secret"};
  Authenticator authenticator_{&store_, &clock_, tokens_};
};

TEST_F(AuthenticatorTest, TellsUsersAgentsAndTasks) {
  AddSession("u", {.kind = store::SessionRecord::Kind::kUser, .user = model::UserId(4)});
  AddSession("a", {.kind = store::SessionRecord::Kind::kAgent});
  EXPECT_EQ(authenticator_.Authenticate("Bearer u")->user, model::UserId(4));
  EXPECT_EQ(authenticator_.Authenticate("bearer a")->kind, PrincipalKind::kAgent);
  const model::AllocationId id("1.1.0");
  const auto task = authenticator_.Authenticate("Bearer " + tokens_.Make(id));
  EXPECT_EQ(task->kind, PrincipalKind::kAllocation);
  EXPECT_EQ(task->allocation, id);
  EXPECT_EQ(authenticator_.Authenticate("")->kind, PrincipalKind::kNobody);
}

TEST_F(AuthenticatorTest, RefusesWhatItDoesNotKnow) {
  for (const char* header : {"Bearer x", "Bearer ", "Basic dTpw", "Bearer", "u"}) {
    EXPECT_EQ(authenticator_.Authenticate(header).status().code(),
              absl::StatusCode::kUnauthenticated)
        << header;
  }
}

TEST_F(AuthenticatorTest, ASessionEndsByTimeAndByLogout) {
  AddSession("t", {.user = model::UserId(1), .expires_at = clock_.Now() + absl::Seconds(10)});
  ASSERT_TRUE(authenticator_.Authenticate("Bearer t").ok());
  clock_.Advance(absl::Seconds(11));
  EXPECT_FALSE(authenticator_.Authenticate("Bearer t").ok());

  AddSession("l", {.user = model::UserId(1)});
  const auto principal = authenticator_.Authenticate("Bearer l");
  ASSERT_TRUE(principal.ok());
  ASSERT_TRUE(authenticator_.Forget(principal->token_hash).ok());
  EXPECT_FALSE(authenticator_.Authenticate("Bearer l").ok());
}

TEST_F(AuthenticatorTest, OpenMethodsLookAtNoToken) {
  EXPECT_TRUE(authenticator_.Admit("det.api.v1.MasterService.GetInfo", "Bearer stale").ok());
  EXPECT_FALSE(authenticator_.Admit("det.api.v1.AuthService.GetMe", "Bearer stale").ok());
}

TEST(FirstStartTest, MakesUsersAndTokensOnceAndKeepsThem) {
  store::FakeStore store;
  auto dir = base::TempDir::Create();
  ASSERT_TRUE(dir.ok());
  ASSERT_TRUE(EnsureUsersAndTokens(store, dir->path(), "").ok());
  const auto token = base::ReadFile(dir->path() + "/admin.token");
  ASSERT_TRUE(token.ok());
  struct stat info = {};
  ASSERT_EQ(::stat((dir->path() + "/admin.token").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_TRUE(store.GetUserByName("admin")->admin);
  EXPECT_FALSE(store.GetUserByName("determined")->admin);
  EXPECT_FALSE(PasswordMatches("", store.GetUserByName("admin")->password_hash));

  // Again, on another database: the files stay, their tokens become good there.
  store::FakeStore other;
  ASSERT_TRUE(EnsureUsersAndTokens(other, dir->path(), "pw").ok());
  EXPECT_EQ(*base::ReadFile(dir->path() + "/admin.token"), *token);
  EXPECT_TRUE(PasswordMatches("pw", other.GetUserByName("admin")->password_hash));
  const std::string bare = token->substr(0, token->size() - 1);
  EXPECT_TRUE(other.GetSession(HashToken(bare), absl::Now()).ok());
}

}  // namespace
}  // namespace det::auth
