#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/file.h"
#include "det/agent/v1/agent.pb.h"
#include "det/api/v1/agent.pb.h"
#include "det/api/v1/auth.pb.h"
#include "det/api/v1/experiment.pb.h"
#include "det/api/v1/master.pb.h"
#include "det/api/v1/permission.pb.h"
#include "det/api/v1/resource_pool.pb.h"
#include "det/api/v1/trial.pb.h"
#include "det/trial/v1/trial.pb.h"
#include "gtest/gtest.h"
#include "master/auth/authenticator.h"
#include "master/auth/bootstrap.h"
#include "master/auth/passwords.h"
#include "master/auth/permissions.h"
#include "master/auth/tokens.h"
#include "master/auth/user_roles.h"
#include "master/store/testing/fake_store.h"

namespace det::auth {
namespace {

// Requirements of methods are read from the generated descriptor pool, which has only linked
// messages.
bool LinkMessages() {
  return det::api::v1::Device::descriptor() != nullptr &&
         det::api::v1::LoginRequest::descriptor() != nullptr &&
         det::api::v1::Experiment::descriptor() != nullptr &&
         det::api::v1::GetTelemetryRequest::descriptor() != nullptr &&
         det::api::v1::ResourcePool::descriptor() != nullptr &&
         det::api::v1::Metrics::descriptor() != nullptr &&
         det::trial::v1::WatchAllocationRequest::descriptor() != nullptr &&
         det::agent::v1::AgentMessage::descriptor() != nullptr;
}

TEST(PermissionsTest, AuthorizesByKindOfPrincipal) {
  using enum PrincipalKind;
  const std::vector<PrincipalKind> all = {kNobody, kUser, kAgent, kAllocation};
  const struct {
    std::string method;
    std::vector<PrincipalKind> allowed;
  } rows[] = {
      {"det.api.v1.MasterService.GetInfo", all},
      {"det.api.v1.MasterService.GetHealth", all},
      {"det.api.v1.AuthService.Login", all},
      {"det.api.v1.AuthService.LoginAs", {}},  // no such method
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
  ASSERT_TRUE(LinkMessages());
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

TEST(PrincipalTest, AppliesClusterRoleToAllWorkspaces) {
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

TEST(PrincipalTest, LimitsRoleOfToken) {
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

TEST(PrincipalTest, CreatesNothingThatOutlivesTokenOfTask) {
  const Principal task{
      .kind = PrincipalKind::kUser, .admin = true, .allocation = model::AllocationId("1.1.0")};
  EXPECT_TRUE(Authorize("det.api.v1.AuthService.GetMe", task).ok());
  EXPECT_TRUE(Authorize("det.api.v1.ExperimentService.CreateExperiment", task).ok());
  for (const char* method :
       {"det.api.v1.UserService.SetUserPassword", "det.api.v1.UserService.PatchUser",
        "det.api.v1.TokenService.PostAccessToken"}) {
    EXPECT_TRUE(absl::IsPermissionDenied(Authorize(method, task))) << method;
  }
}

TEST(PermissionsTest, AreThoseOfTheApi) {
  const auto* types = det::api::v1::PermissionType_descriptor();
  size_t count = 0;
  for (int i = 0; i < types->value_count(); ++i) {
    const auto* value = types->value(i);
    if (value->number() == 0) continue;
    const auto permission = model::ToPermission(value->number());
    ASSERT_TRUE(permission) << value->name();
    EXPECT_EQ("PERMISSION_TYPE_" + std::string(model::GetInfo(*permission).api_name),
              value->name());
    ++count;
  }
  EXPECT_EQ(count, model::GetPermissionInfos().size());
}

TEST(PermissionsTest, GivesEachBasicRoleThoseOfTheLowerOnes) {
  using enum model::Role;
  for (const auto& [low, high] : {std::pair(kViewer, kEditor), std::pair(kEditor, kWorkspaceAdmin),
                                  std::pair(kWorkspaceAdmin, kClusterAdmin)}) {
    EXPECT_TRUE(model::GetPermissions(high).includes(model::GetPermissions(low)));
    EXPECT_FALSE(model::GetPermissions(low).includes(model::GetPermissions(high)));
  }
}

TEST(PermissionsTest, RestrictsTheRolesOfExistingClients) {
  const std::map<std::string_view, size_t> sizes = {
      {"ClusterAdmin", 60},     {"WorkspaceCreator", 3}, {"ModelRegistryViewer", 3},
      {"EditorRestricted", 25}, {"GenAIUser", 27},       {"EditorProjectRestricted", 25},
      {"TokenCreator", 3}};
  const std::set<std::string_view> cluster_only = {"ClusterAdmin", "WorkspaceCreator", "GenAIUser",
                                                   "TokenCreator"};
  for (const model::BuiltInRole& role : model::GetBuiltInRoles()) {
    const auto listed = model::GetListedPermissions(role.id, model::GetPermissions(role.id));
    size_t count = 0;
    for (const auto& info : model::GetPermissionInfos()) count += listed.contains(info.permission);
    if (sizes.contains(role.name)) {
      EXPECT_EQ(count, sizes.at(role.name)) << role.name;
    }
    EXPECT_EQ(model::IsAssignableInWorkspace(listed), !cluster_only.contains(role.name))
        << role.name;
  }
}

TEST(PrincipalTest, ListsOnlyWorkspacesWithThePermission) {
  const Principal user{.kind = PrincipalKind::kUser,
                       .roles = {{1, model::kModelRegistryViewer}, {2, model::Role::kViewer}}};
  EXPECT_EQ(user.Visible(model::Permission::kViewModelRegistry), std::vector<int32_t>({1, 2}));
  EXPECT_EQ(user.Visible(model::Permission::kViewExperimentMetadata), std::vector<int32_t>({2}));
  EXPECT_TRUE(user.Sees(1));
}

TEST(UserRolesTest, UsesPermissionsOfCreatedRoles) {
  model::PermissionSet permissions;
  permissions.insert(model::Permission::kDeleteModelRegistry);
  const model::RoleId created(model::RoleId::kFirstCreated);
  const Principal user{
      .kind = PrincipalKind::kUser,
      .roles =
          MakeRoles({{model::UserId(5), 1, created}, {model::UserId(5), 2, model::RoleId(999)}},
                    {{.group = 1, .workspace = 3, .role = model::Role::kEditor}},
                    {{created, "Librarian", permissions}})};
  EXPECT_EQ(user.roles.size(), 2u) << "a role that does not exist gives nothing";
  EXPECT_TRUE(user.Holds(model::Permission::kDeleteModelRegistry, 1));
  EXPECT_FALSE(user.Holds(model::Permission::kDeleteOtherUserModelRegistry, 1));
  EXPECT_TRUE(user.HoldsForOwn(model::Permission::kDeleteOtherUserModelRegistry, 1));
  EXPECT_EQ(user.RoleIn(1), model::Role::kNone);
  EXPECT_EQ(user.RoleIn(3), model::Role::kEditor);
}

TEST(UserRolesTest, LetsUsersWorkWithEverything_WhenThereAreNoRoles) {
  using enum model::Permission;
  const Principal user{.kind = PrincipalKind::kUser, .roles = MakeRolesForBasicMode({7})};
  for (const model::Permission permission :
       {kUpdateExperiment, kCreateProject, kUpdateTemplates, kEditModelRegistry, kViewMasterLogs}) {
    EXPECT_TRUE(user.Holds(permission, 0)) << model::GetInfo(permission).api_name;
  }
  for (const model::Permission permission :
       {kUpdateWorkspace, kDeleteExperiment, kUpdateProject, kUpdateAgents, kViewMasterConfig,
        kAdministrateUser, kUpdateGroup, kAssignRoles, kCreateToken, kModifyGlobalConfigPolicies}) {
    EXPECT_FALSE(user.Holds(permission, 0)) << model::GetInfo(permission).api_name;
  }
  EXPECT_TRUE(user.HoldsForOwn(kDeleteExperiment, 3));
  EXPECT_TRUE(user.Holds(kUpdateWorkspace, 7)) << "the own workspace";
  EXPECT_FALSE(user.Holds(kDeleteExperiment, 7)) << "of others, in the own workspace";
}

TEST(PermissionsTest, AllowsOnlyAdministratorsToChangeAgentsPoolsAndQuotas) {
  const std::pair<const char*, bool> rows[] = {
      {"det.api.v1.AgentService.GetAgents", false},
      {"det.api.v1.AgentService.DisableAgent", true},
      {"det.api.v1.AgentService.SetMaintenance", true},
      {"det.api.v1.ResourcePoolService.GetQuotas", false},
      {"det.api.v1.ResourcePoolService.ListWorkspacesBoundToRP", false},
      {"det.api.v1.ResourcePoolService.BindRPToWorkspace", true},
      {"det.api.v1.ResourcePoolService.PutQuota", true},
      {"det.api.v1.JobService.UpdateJobQueue", false},
      {"det.api.v1.UserService.GetUsers", false},
      {"det.api.v1.UserService.PatchUser", false},  // users may change themselves
      {"det.api.v1.UserService.PostUser", true},
      {"det.api.v1.UserService.PatchUsers", true},
  };
  const Principal editor{.kind = PrincipalKind::kUser, .roles = {{1, model::Role::kEditor}}};
  for (const auto& [method, admin] : rows) {
    const absl::Status status = Authorize(method, editor);
    EXPECT_EQ(absl::IsPermissionDenied(status), admin) << method;
    EXPECT_EQ(absl::StrContains(status.message(), "the role ClusterAdmin for the cluster"), admin)
        << status;
    EXPECT_TRUE(Authorize(method, {.kind = PrincipalKind::kUser, .admin = true}).ok()) << method;
    const bool own = GetRequirement(method).scope == Scope::kSelf;
    EXPECT_EQ(absl::IsPermissionDenied(Authorize(method, {.kind = PrincipalKind::kUser})), !own)
        << method << " by a user without a role";
  }
}

TEST(TokensTest, GeneratesUniqueSafeTokens) {
  const std::string a = NewToken();
  EXPECT_NE(a, NewToken());
  EXPECT_EQ(a.size(), 43u);
  EXPECT_EQ(a.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
            std::string::npos);
  EXPECT_EQ(HashToken("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(TokensTest, BindsTokenToAllocationAndCluster) {
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

TEST(TokensTest, DistinguishesOwnerTokenFromTaskToken) {
  const AllocationTokens tokens("secret");
  const model::AllocationId id("3.7.0");
  const std::string token = tokens.MakeForOwner(id);
  EXPECT_EQ(tokens.VerifyForOwner(token), id);
  EXPECT_EQ(tokens.Verify(token), std::nullopt);
  EXPECT_EQ(tokens.VerifyForOwner(tokens.Make(id)), std::nullopt);
  EXPECT_EQ(AllocationTokens("another").VerifyForOwner(token), std::nullopt);
}

TEST(PasswordsTest, MatchesOnlyOwnHash) {
  const auto hash = HashPassword(ClientHash("geheim"));
  ASSERT_TRUE(hash.ok());
  EXPECT_EQ(hash->find("$argon2id$"), 0u);
  EXPECT_TRUE(PasswordMatches(ClientHash("geheim"), *hash, false));
  EXPECT_FALSE(PasswordMatches(ClientHash("Geheim"), *hash, false));
  EXPECT_FALSE(PasswordMatches("geheim", *hash, false));
  EXPECT_FALSE(PasswordMatches("", "", true));
}

TEST(PasswordsTest, MatchesBlankPasswordOnlyIfAllowed) {
  const std::string hash = *HashPassword("");
  EXPECT_FALSE(PasswordMatches("", hash, /*allow_blank=*/false));
  EXPECT_TRUE(PasswordMatches("", hash, /*allow_blank=*/true));
}

// The hash that existing clients send: sha512sum of the salt and the password.
TEST(PasswordsTest, ComputesClientHash) {
  EXPECT_EQ(ClientHash("Abcdef12345"),
            "e6b428709dc8ef554ad401e612cdc57b29e94028c87767033b4f55234939e57c"
            "9ab8f7a876221a06547a9b5935725a7eb6d7628914e3a23d1b08782fb7625a66");
  EXPECT_EQ(ClientHash(""), "");
  EXPECT_EQ(ToClientHash("x", /*hashed=*/true), "x");
  EXPECT_EQ(ToClientHash("x", /*hashed=*/false), ClientHash("x"));
}

TEST(PasswordsTest, RejectsWeakNewPasswords) {
  for (const char* bad : {"Short1x", "alllower1", "ALLUPPER1", "NoDigitsHere", "12345678"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckNewPassword(bad, false, true))) << bad;
    EXPECT_TRUE(CheckNewPassword(bad, /*hashed=*/true, false).ok()) << bad;
  }
  EXPECT_TRUE(CheckNewPassword("Long3nough", false, false).ok());
  EXPECT_TRUE(CheckNewPassword("", false, true).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(CheckNewPassword("", true, false)));
  EXPECT_TRUE(CheckNewPassword(NewPassword(), false, false).ok());
  EXPECT_NE(NewPassword(), NewPassword());
}

class AuthenticatorTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto admin = store_.users().AddUser({.username = "admin", .admin = true});
    ASSERT_TRUE(admin.ok());
    admin_ = admin->id;
  }
  void AddSession(const std::string& token, store::SessionRecord session) {
    session.token_hash = HashToken(token);
    ASSERT_TRUE(store_.access().PutSession(session).ok());
  }
  bool IsValid(const std::string& token) {
    return authenticator_.Authenticate("Bearer " + token).ok();
  }

  model::UserId admin_;
  store::FakeStore store_;
  base::FakeClock clock_;
  AllocationTokens tokens_{"secret"};
  Authenticator authenticator_{&store_, &clock_, tokens_};
};

TEST_F(AuthenticatorTest, DistinguishesUsersAgentsAndTasks) {
  AddSession("u", {.kind = store::SessionRecord::Kind::kUser, .user = admin_});
  AddSession("a", {.kind = store::SessionRecord::Kind::kAgent});
  EXPECT_EQ(authenticator_.Authenticate("Bearer u")->user, admin_);
  EXPECT_TRUE(authenticator_.Authenticate("Bearer u")->admin);
  EXPECT_EQ(authenticator_.Authenticate("bearer a")->kind, PrincipalKind::kAgent);
  const model::AllocationId id("1.1.0");
  const auto task = authenticator_.Authenticate("Bearer " + tokens_.Make(id));
  EXPECT_EQ(task->kind, PrincipalKind::kAllocation);
  EXPECT_EQ(task->allocation, id);
  EXPECT_EQ(authenticator_.Authenticate("")->kind, PrincipalKind::kNobody);
}

TEST_F(AuthenticatorTest, AddsRolesOfGroups) {
  const auto ann = store_.users().AddUser({.username = "ann"});
  const auto group = store_.groups().AddGroup("ops", {ann->id});
  ASSERT_TRUE(store_.groups().AddRoles({}, {{group->id, 2, model::Role::kEditor}}).ok());
  AddSession("ann", {.user = ann->id});
  EXPECT_EQ(authenticator_.Authenticate("Bearer ann")->RoleIn(2), model::Role::kEditor);
  ASSERT_TRUE(store_.groups().DeleteGroup(group->id).ok());
  authenticator_.InvalidateAll();
  EXPECT_EQ(authenticator_.Authenticate("Bearer ann")->RoleIn(2), model::Role::kNone);
}

TEST_F(AuthenticatorTest, IgnoresRoles_WhenTheModeIsBasic) {
  const auto ann = store_.users().AddUser({.username = "ann"}, model::Role::kViewer);
  const auto workspace = store_.workspaces().AddWorkspace({.name = "anns", .owner = ann->id});
  AddSession("ann", {.user = ann->id});
  Authenticator basic(&store_, &clock_, tokens_, AuthzType::kBasic);
  const auto principal = basic.Authenticate("Bearer ann");
  ASSERT_TRUE(principal.ok());
  EXPECT_TRUE(principal->basic);
  EXPECT_EQ(principal->RoleIn(99), model::Role::kEditor);
  EXPECT_TRUE(principal->Holds(model::Permission::kUpdateWorkspace, workspace->id));
  EXPECT_FALSE(principal->Holds(model::Permission::kUpdateWorkspace, 1));
}

TEST_F(AuthenticatorTest, RejectsUnknownTokens) {
  AddSession("gone", {.user = model::UserId(99)});
  for (const char* header : {"Bearer x", "Bearer ", "Basic dTpw", "Bearer", "u", "Bearer gone"}) {
    EXPECT_EQ(authenticator_.Authenticate(header).status().code(),
              absl::StatusCode::kUnauthenticated)
        << header;
  }
}

TEST_F(AuthenticatorTest, EndsSessionByExpiryAndLogout) {
  AddSession("t", {.user = admin_, .expires_at = clock_.Now() + absl::Seconds(10)});
  ASSERT_TRUE(IsValid("t"));
  clock_.Advance(absl::Seconds(11));
  EXPECT_FALSE(IsValid("t"));

  AddSession("l", {.user = admin_});
  const auto principal = authenticator_.Authenticate("Bearer l");
  ASSERT_TRUE(principal.ok());
  ASSERT_TRUE(authenticator_.EndSession(principal->token_hash).ok());
  EXPECT_FALSE(IsValid("l"));
}

TEST_F(AuthenticatorTest, RejectsInactiveUserImmediately) {
  ASSERT_TRUE(store_.users().AddUser({.username = "other", .admin = true}).ok());
  AddSession("u", {.user = admin_});
  ASSERT_TRUE(IsValid("u"));
  ASSERT_TRUE(store_.users().ChangeUser(admin_, {.active = false}, clock_.Now()).ok());
  EXPECT_TRUE(IsValid("u"))
      << "the session is still cached, as if another master had deactivated the user";
  authenticator_.InvalidateUser(admin_);
  EXPECT_FALSE(IsValid("u"));
}

TEST_F(AuthenticatorTest, LimitsAccessTokenUntilRevoked) {
  const auto kAccess = store::SessionRecord::Kind::kAccess;
  AddSession("full", {.kind = kAccess, .user = admin_});
  AddSession("less", {.kind = kAccess, .user = admin_, .limit = model::Role::kViewer});
  const auto full = authenticator_.Authenticate("Bearer full");
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_TRUE(full->admin);
  EXPECT_GT(full->access_token, 0);
  const auto less = authenticator_.Authenticate("Bearer less");
  ASSERT_TRUE(less.ok()) << less.status();
  EXPECT_FALSE(less->admin);
  EXPECT_EQ(less->limit, model::Role::kViewer);
  EXPECT_EQ(less->RoleIn(1), model::Role::kViewer) << "an administrator who may only read";

  ASSERT_TRUE(store_.access().ChangeToken(less->access_token, std::nullopt, true).ok());
  authenticator_.InvalidateUser(admin_);
  EXPECT_FALSE(IsValid("less"));
  EXPECT_TRUE(IsValid("full"));
}

TEST_F(AuthenticatorTest, RecordsLastUseOncePerMinute) {
  AddSession("t", {.kind = store::SessionRecord::Kind::kAccess, .user = admin_});
  const auto last_use = [&] {
    authenticator_.InvalidateUser(admin_);
    EXPECT_TRUE(IsValid("t"));
    return store_.access().ListTokens({})->tokens.at(0).last_used_at;
  };
  const absl::Time first = clock_.Now();
  EXPECT_EQ(last_use(), first);
  clock_.Advance(absl::Seconds(59));
  EXPECT_EQ(last_use(), first);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(last_use(), clock_.Now());
}

TEST_F(AuthenticatorTest, IgnoresTokenForPublicMethods) {
  EXPECT_TRUE(authenticator_.Authorize("det.api.v1.MasterService.GetInfo", "Bearer stale").ok());
  EXPECT_FALSE(authenticator_.Authorize("det.api.v1.AuthService.GetMe", "Bearer stale").ok());
}

class BootstrapTest : public testing::Test {
 protected:
  absl::Status Start(store::Store& store, const InitialPasswords& passwords) {
    return EnsureUsersAndTokens(store, dir_.path(), passwords, absl::Now());
  }
  std::string Read(const std::string& name) {
    return base::ReadFile(dir_.path() + "/" + name).value_or("");
  }
  bool CanLogIn(store::Store& store, const std::string& user, const std::string& password,
                bool allow_blank = false) {
    return PasswordMatches(ClientHash(password), store.users().GetUserByName(user)->password_hash,
                           allow_blank);
  }

  const base::TempDir dir_ = *base::TempDir::Create();
  store::FakeStore store_;
};

TEST_F(BootstrapTest, CreatesUsersAndTokensOnce) {
  ASSERT_TRUE(Start(store_, {}).ok());
  const std::string token = Read("admin.token");
  ASSERT_FALSE(token.empty());
  struct stat info = {};
  ASSERT_EQ(::stat((dir_.path() + "/admin.token").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const auto admin = store_.users().GetUserByName("admin");
  const auto user = store_.users().GetUserByName("determined");
  EXPECT_TRUE(admin->admin);
  EXPECT_FALSE(user->admin);
  EXPECT_EQ(store_.access().GetUserRoles(user->id)->at(0).role, model::Role::kEditor);
  EXPECT_TRUE(admin->password_hash.empty());
  EXPECT_EQ(Read("passwords.new"), "");

  // A start with another database keeps the files and makes their tokens valid there.
  store::FakeStore other;
  ASSERT_TRUE(Start(other, {.admin = "Secret123", .user = "Other1234"}).ok());
  EXPECT_EQ(Read("admin.token"), token);
  EXPECT_TRUE(CanLogIn(other, "admin", "Secret123"));
  EXPECT_TRUE(CanLogIn(other, "determined", "Other1234"));
  const std::string bare = token.substr(0, token.size() - 1);
  EXPECT_TRUE(other.access().GetSession(HashToken(bare), absl::Now()).ok());
}

TEST_F(BootstrapTest, GeneratesPasswordsOnce) {
  ASSERT_TRUE(Start(store_, {.user = "Given1234", .make = true}).ok());
  const std::string made = Read("passwords.new");
  const std::string label = "admin password: ";
  ASSERT_EQ(made.find(label), 0u) << made;
  EXPECT_EQ(made.find("determined"), made.npos);
  const std::string password = made.substr(label.size(), made.size() - label.size() - 1);
  EXPECT_TRUE(CanLogIn(store_, "admin", password));
  struct stat info = {};
  ASSERT_EQ(::stat((dir_.path() + "/passwords.new").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);

  // A start that crashed after it wrote the passwords and before it set them.
  store::FakeStore again;
  ASSERT_TRUE(Start(again, {.make = true}).ok());
  EXPECT_TRUE(CanLogIn(again, "admin", password));
  EXPECT_EQ(Read("passwords.new").find(made), 0u);
  EXPECT_NE(Read("passwords.new").find("determined password: "), std::string::npos);

  ASSERT_EQ(::unlink((dir_.path() + "/passwords.new").c_str()), 0);
  ASSERT_TRUE(Start(store_, {.make = true}).ok());
  EXPECT_EQ(Read("passwords.new"), "") << "all users have a password";
}

TEST_F(BootstrapTest, RejectsWeakPasswords) {
  const absl::Status refused = Start(store_, {.admin = "easy"});
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_NE(refused.message().find("user admin"), refused.message().npos);
  const std::string hash = *HashPassword(ClientHash("easy"));
  const auto admin = store_.users().GetUserByName("admin");
  ASSERT_TRUE(store_.users().ChangeUser(admin->id, {.password_hash = hash}, absl::Now()).ok());
  EXPECT_TRUE(Start(store_, {.admin = "easy"}).ok()) << "the password is not changed";
}

TEST_F(BootstrapTest, SetsBlankPasswords_WhenAllowed) {
  ASSERT_TRUE(Start(store_, {.make = true, .allow_blank = true}).ok());
  EXPECT_EQ(Read("passwords.new"), "");
  EXPECT_TRUE(CanLogIn(store_, "determined", "", /*allow_blank=*/true));
  EXPECT_FALSE(CanLogIn(store_, "determined", "", /*allow_blank=*/false));
}

}  // namespace
}  // namespace det::auth
