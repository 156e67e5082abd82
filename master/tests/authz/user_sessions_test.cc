// Users, logins and access tokens, called at the services.
#include <memory>
#include <string>
#include <vector>

#include "det/api/v1/auth.grpc.pb.h"
#include "det/api/v1/token.grpc.pb.h"
#include "det/api/v1/user.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/auth/passwords.h"
#include "master/tests/testing/integration_fixture.h"
#include <grpcpp/grpcpp.h>

namespace det::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum grpc::StatusCode;

constexpr char kPassword[] = "Secret123";

// The token "user" belongs to the administrator.
class UserSessionsTest : public testing::Test {
 protected:
  grpc::Status LogIn(const std::string& user, const std::string& password, bool hashed = false) {
    grpc::ClientContext context;
    api::LoginRequest request;
    request.set_username(user);
    request.set_password(password);
    request.set_is_hashed(hashed);
    return auth_->Login(&context, request, &login_);
  }
  std::string GetToken(const std::string& user, const std::string& password) {
    const grpc::Status status = LogIn(user, password);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return login_.token();
  }
  grpc::Status Add(const std::string& name, const std::string& password,
                   const std::string& token = "user") {
    CallContext context(token);
    api::PostUserRequest request;
    request.mutable_user()->set_username(name);
    request.mutable_user()->set_active(true);
    request.set_password(password);
    return users_->PostUser(&context, request, &added_);
  }
  grpc::Status Patch(const std::string& token, int id, const api::PatchUser& patch) {
    CallContext context(token);
    api::PatchUserRequest request;
    request.set_user_id(id);
    *request.mutable_user() = patch;
    return users_->PatchUser(&context, request, &patched_);
  }
  grpc::StatusCode Me(const std::string& token) {
    CallContext context(token);
    api::GetMeResponse response;
    return auth_->GetMe(&context, {}, &response).error_code();
  }
  grpc::Status MakeToken(const std::string& token, const api::PostAccessTokenRequest& request) {
    CallContext context(token);
    return tokens_->PostAccessToken(&context, request, &made_);
  }
  std::vector<int> Tokens(const std::string& token, bool inactive = false) {
    CallContext context(token);
    api::GetAccessTokensRequest request;
    request.set_show_inactive(inactive);
    api::GetAccessTokensResponse response;
    EXPECT_TRUE(tokens_->GetAccessTokens(&context, request, &response).ok());
    EXPECT_EQ(response.pagination().total(), response.token_info_size());
    std::vector<int> ids;
    for (const auto& each : response.token_info()) ids.push_back(each.id());
    return ids;
  }
  // Adds the user "ann" and logs in as ann.
  void AddAnn() {
    const grpc::Status status = Add("ann", kPassword);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ann_id_ = added_.user().id();
    ann_ = GetToken("ann", kPassword);
  }

  TestMaster master_{store::MakeFakeDatabase()};
  std::unique_ptr<api::AuthService::Stub> auth_ = api::AuthService::NewStub(master_.channel());
  std::unique_ptr<api::UserService::Stub> users_ = api::UserService::NewStub(master_.channel());
  std::unique_ptr<api::TokenService::Stub> tokens_ = api::TokenService::NewStub(master_.channel());
  api::LoginResponse login_;
  api::PostUserResponse added_;
  api::PatchUserResponse patched_;
  api::PostAccessTokenResponse made_;
  int ann_id_ = 0;
  std::string ann_;
};

TEST_F(UserSessionsTest, AddsAUserWhoLogsInWithPlainOrHashedPassword) {
  AddAnn();
  EXPECT_GT(ann_id_, 1);
  EXPECT_TRUE(login_.user().has_last_auth_at());
  EXPECT_EQ(login_.user().display_name(), "") << "it was never set";
  EXPECT_EQ(master_.store().access().GetUserRoles(model::UserId(ann_id_))->at(0).role,
            model::Role::kEditor);
  EXPECT_TRUE(LogIn("ANN", auth::ClientHash(kPassword), /*hashed=*/true).ok());
  EXPECT_EQ(LogIn("ann", kPassword, /*hashed=*/true).error_code(), UNAUTHENTICATED);
  EXPECT_EQ(LogIn("ann", "").error_code(), UNAUTHENTICATED);

  EXPECT_EQ(Add("Ann", kPassword).error_code(), ALREADY_EXISTS);
  EXPECT_EQ(Add("b n", kPassword).error_code(), INVALID_ARGUMENT);
  EXPECT_EQ(Add("ben", "easy").error_code(), INVALID_ARGUMENT);
  EXPECT_EQ(Add("ben", "").error_code(), INVALID_ARGUMENT);
  EXPECT_EQ(Add("ben", kPassword, ann_).error_code(), PERMISSION_DENIED);
}

TEST_F(UserSessionsTest, UsersChangeOnlyTheirOwnNameAndPassword) {
  AddAnn();
  api::PatchUser name;
  name.set_display_name("Ann A.");
  ASSERT_TRUE(Patch(ann_, ann_id_, name).ok());
  EXPECT_EQ(patched_.user().display_name(), "Ann A.");
  EXPECT_EQ(Patch(ann_, 1, name).error_code(), PERMISSION_DENIED);
  api::PatchUser admin;
  admin.set_admin(true);
  EXPECT_EQ(Patch(ann_, ann_id_, admin).error_code(), PERMISSION_DENIED);
  ASSERT_TRUE(Patch("user", ann_id_, admin).ok());
  EXPECT_TRUE(patched_.user().admin());
  name.set_display_name("The first");
  EXPECT_TRUE(Patch(ann_, 1, name).ok()) << "the role takes effect at once";
  EXPECT_EQ(Patch("user", 99, name).error_code(), NOT_FOUND);
}

TEST_F(UserSessionsTest, RefusesNamesThatWouldPassForOtherUsers) {
  AddAnn();
  ASSERT_TRUE(Add("ben", kPassword).ok());
  const int ben = added_.user().id();
  const auto rename = [&](const char* display_name) {
    api::PatchUser patch;
    patch.set_display_name(display_name);
    return Patch("user", ben, patch).error_code();
  };
  EXPECT_EQ(rename("ANN"), INVALID_ARGUMENT) << "the username of another user";
  EXPECT_EQ(rename("Admin"), INVALID_ARGUMENT);
  EXPECT_EQ(rename("Determined"), INVALID_ARGUMENT);
  EXPECT_EQ(rename("B\xc3\xa9n"), INVALID_ARGUMENT);
  EXPECT_EQ(rename("Ben"), OK) << "the user's own username";
  api::PatchUser name;
  name.set_username("Benjamin");
  EXPECT_EQ(Patch("user", ben, name).error_code(), OK);
  name.set_username("ann");
  EXPECT_EQ(Patch("user", ben, name).error_code(), ALREADY_EXISTS);
  EXPECT_EQ(rename(""), OK);
  EXPECT_EQ(patched_.user().display_name(), "");
  EXPECT_EQ(Add("Determined", kPassword).error_code(), INVALID_ARGUMENT);
  api::PatchUser half;
  half.mutable_agent_user_group()->set_agent_uid(7);
  EXPECT_EQ(Patch("user", ben, half).error_code(), INVALID_ARGUMENT);
}

TEST_F(UserSessionsTest, RefusesLoginWithoutUsername) {
  EXPECT_EQ(LogIn("", kPassword).error_code(), INVALID_ARGUMENT);
}

TEST_F(UserSessionsTest, NewPasswordEndsOtherSessionsOfTheUser) {
  AddAnn();
  const std::string other = GetToken("ann", kPassword);
  api::PatchUser patch;
  patch.set_password("Other1234");
  ASSERT_TRUE(Patch(ann_, ann_id_, patch).ok());
  EXPECT_EQ(Me(ann_), OK);
  EXPECT_EQ(Me(other), UNAUTHENTICATED);
  EXPECT_EQ(LogIn("ann", kPassword).error_code(), UNAUTHENTICATED);
  EXPECT_TRUE(LogIn("ann", "Other1234").ok());

  CallContext context("user");
  api::SetUserPasswordRequest request;
  request.set_user_id(ann_id_);
  request.set_password(auth::ClientHash("Third1234"));
  api::SetUserPasswordResponse response;
  ASSERT_TRUE(users_->SetUserPassword(&context, request, &response).ok());
  EXPECT_EQ(Me(ann_), UNAUTHENTICATED);
  EXPECT_TRUE(LogIn("ann", "Third1234").ok());
}

TEST_F(UserSessionsTest, DeactivationEndsSessionsAndKeepsTheLastAdministrator) {
  AddAnn();
  CallContext context("user");
  api::PatchUsersRequest request;
  request.add_user_ids(1);
  request.add_user_ids(ann_id_);
  api::PatchUsersResponse response;
  ASSERT_TRUE(users_->PatchUsers(&context, request, &response).ok());
  ASSERT_EQ(response.results_size(), 2);
  EXPECT_THAT(response.results(0).error(), HasSubstr("no active administrator"));
  EXPECT_EQ(response.results(1).error(), "");
  EXPECT_EQ(Me(ann_), UNAUTHENTICATED);
  EXPECT_EQ(Me("user"), OK);
  const grpc::Status refused = LogIn("ann", kPassword);
  EXPECT_EQ(refused.error_code(), PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("user is not active"));

  CallContext again("user");
  api::PatchUsersRequest back;
  back.set_activate(true);
  back.mutable_filters()->set_name("AN");
  ASSERT_TRUE(users_->PatchUsers(&again, back, &response).ok());
  EXPECT_EQ(Me(ann_), UNAUTHENTICATED) << "the old session has ended";
  EXPECT_TRUE(LogIn("ann", kPassword).ok());
}

TEST_F(UserSessionsTest, FindsAndListsUsers) {
  AddAnn();
  CallContext by_name(ann_);
  api::GetUserByUsernameRequest name;
  name.set_username("Ann");
  api::GetUserByUsernameResponse found;
  ASSERT_TRUE(users_->GetUserByUsername(&by_name, name, &found).ok());
  EXPECT_EQ(found.user().id(), ann_id_);
  CallContext by_id(ann_);
  api::GetUserRequest id;
  id.set_user_id(99);
  api::GetUserResponse none;
  EXPECT_EQ(users_->GetUser(&by_id, id, &none).error_code(), NOT_FOUND);

  CallContext list(ann_);
  api::GetUsersRequest request;
  request.set_sort_by(api::GetUsersRequest::SORT_BY_USER_NAME);
  request.set_order_by(api::ORDER_BY_DESC);
  request.set_limit(1);
  api::GetUsersResponse users;
  ASSERT_TRUE(users_->GetUsers(&list, request, &users).ok());
  ASSERT_EQ(users.users_size(), 1);
  EXPECT_EQ(users.users(0).username(), "ann");
  EXPECT_EQ(users.pagination().total(), 2);
  EXPECT_EQ(users.pagination().end_index(), 1);
}

TEST_F(UserSessionsTest, OnlyAdministratorsFilterUsersByRole) {
  AddAnn();
  const auto total = [&](const std::string& token, int role) {
    CallContext context(token);
    api::GetUsersRequest request;
    request.add_role_id_assigned_directly_to_user(role);
    api::GetUsersResponse users;
    const auto code = users_->GetUsers(&context, request, &users).error_code();
    return code == OK ? users.pagination().total() : -static_cast<int>(code);
  };
  EXPECT_EQ(total("user", 5), 1) << "new users such as ann are Editors";
  EXPECT_EQ(total("user", 1), 1) << "the administrator";
  EXPECT_EQ(total("user", 4), 0);
  EXPECT_EQ(total("user", 3), 0);
  EXPECT_EQ(total("user", 11), -NOT_FOUND);
  EXPECT_EQ(total(ann_, 5), -PERMISSION_DENIED);
}

TEST_F(UserSessionsTest, KeepsSettingsPerUser) {
  AddAnn();
  CallContext post(ann_);
  api::PostUserSettingRequest request;
  request.add_settings()->set_key("theme");
  request.mutable_settings(0)->set_value("dark");
  api::PostUserSettingResponse posted;
  ASSERT_TRUE(users_->PostUserSetting(&post, request, &posted).ok());
  const auto count = [&](const std::string& token) {
    CallContext context(token);
    api::GetUserSettingResponse response;
    EXPECT_TRUE(users_->GetUserSetting(&context, {}, &response).ok());
    return response.settings_size();
  };
  EXPECT_EQ(count(ann_), 1);
  EXPECT_EQ(count("user"), 0);
  CallContext reset(ann_);
  api::ResetUserSettingResponse done;
  ASSERT_TRUE(users_->ResetUserSetting(&reset, {}, &done).ok());
  EXPECT_EQ(count(ann_), 0);
}

TEST_F(UserSessionsTest, AccessTokenWorksUntilItIsRevoked) {
  AddAnn();
  api::PostAccessTokenRequest request;
  request.set_lifespan("90m");
  ASSERT_TRUE(MakeToken(ann_, request).ok());
  const int id = made_.token_id();
  const std::string token = made_.token();
  EXPECT_EQ(Me(token), OK);
  request.set_lifespan("-1");
  ASSERT_TRUE(MakeToken("user", request).ok());
  EXPECT_THAT(Tokens(ann_), ElementsAre(id));
  EXPECT_THAT(Tokens("user"), ElementsAre(id, made_.token_id()));

  const auto revoke = [&](const std::string& by, int which) {
    CallContext context(by);
    api::PatchAccessTokenRequest patch;
    patch.set_token_id(which);
    patch.set_set_revoked(true);
    api::PatchAccessTokenResponse response;
    const grpc::Status status = tokens_->PatchAccessToken(&context, patch, &response);
    EXPECT_EQ(response.token_info().revoked(), status.ok());
    return status.error_code();
  };
  EXPECT_EQ(revoke(ann_, made_.token_id()), NOT_FOUND) << "the token belongs to another user";
  EXPECT_EQ(revoke(ann_, id), OK);
  EXPECT_EQ(Me(token), UNAUTHENTICATED);
  EXPECT_TRUE(Tokens(ann_).empty());
  EXPECT_THAT(Tokens(ann_, /*inactive=*/true), ElementsAre(id));
}

TEST_F(UserSessionsTest, LogoutWithAnAccessTokenRevokesIt) {
  AddAnn();
  ASSERT_TRUE(MakeToken(ann_, {}).ok());
  CallContext context(made_.token());
  api::LogoutResponse none;
  ASSERT_TRUE(auth_->Logout(&context, {}, &none).ok());
  EXPECT_EQ(Me(made_.token()), UNAUTHENTICATED);
  EXPECT_EQ(Me(ann_), OK);
  EXPECT_THAT(Tokens(ann_, /*inactive=*/true), ElementsAre(made_.token_id()));
}

TEST_F(UserSessionsTest, LimitedTokenCannotRaisePermissions) {
  api::PostAccessTokenRequest editor;
  editor.set_role("Editor");
  ASSERT_TRUE(MakeToken("user", editor).ok());
  const std::string token = made_.token();
  EXPECT_EQ(Add("ben", kPassword, token).error_code(), PERMISSION_DENIED);
  EXPECT_EQ(MakeToken(token, {}).error_code(), PERMISSION_DENIED);
  api::PostAccessTokenRequest viewer;
  viewer.set_role("Viewer");
  EXPECT_EQ(MakeToken(token, viewer).error_code(), PERMISSION_DENIED)
      << "access tokens cannot create tokens";
  api::PatchUser patch;
  patch.set_password("Other1234");
  EXPECT_EQ(Patch(token, 1, patch).error_code(), PERMISSION_DENIED);
}

TEST_F(UserSessionsTest, RejectsInvalidTokenRequests) {
  AddAnn();
  for (const char* lifespan : {"1", "-1h", "0s", "soon", "inf", "2000000h"}) {
    api::PostAccessTokenRequest request;
    request.set_lifespan(lifespan);
    EXPECT_EQ(MakeToken(ann_, request).error_code(), INVALID_ARGUMENT) << lifespan;
  }
  api::PostAccessTokenRequest role;
  role.set_role("King");
  EXPECT_EQ(MakeToken(ann_, role).error_code(), INVALID_ARGUMENT);
  api::PostAccessTokenRequest others;
  others.set_user_id(1);
  EXPECT_EQ(MakeToken(ann_, others).error_code(), PERMISSION_DENIED);
  others.set_user_id(99);
  EXPECT_EQ(MakeToken("user", others).error_code(), NOT_FOUND);
}

}  // namespace
}  // namespace det::tests
