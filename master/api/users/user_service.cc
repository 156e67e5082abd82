#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/user.unary.h"
#include "master/api/common/convert.h"
#include "master/api/rpc/api_service.h"
#include "master/api/users/convert_user.h"
#include "master/api/users/delegation.h"
#include "master/api/users/services.h"
#include "master/auth/password_queue.h"
#include "master/auth/passwords.h"

namespace det::api {
namespace {

constexpr size_t kUsernameLimit = 128;

// The name appears in paths and in tables.
absl::Status CheckUsername(const std::string& name) {
  const auto bad = [](char c) {
    return !absl::ascii_isgraph(static_cast<unsigned char>(c)) || c == '/';
  };
  if (!name.empty() && name.size() <= kUsernameLimit &&
      std::none_of(name.begin(), name.end(), bad)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("username: expected 1 to ", kUsernameLimit,
                                                 " printable ASCII characters without spaces "
                                                 "and '/', found \"",
                                                 name, "\""));
}

// Look-alikes of other letters would let a user pass for another one.
absl::Status CheckDisplayName(const std::string& name) {
  const auto printable = [](char c) {
    return absl::ascii_isprint(static_cast<unsigned char>(c)) != 0;
  };
  if (std::all_of(name.begin(), name.end(), printable)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("display_name: expected printable ASCII characters, found \"", name, "\""));
}

// A name must not pass for one of the initial users. `username`: the user's present one; empty: the
// user is new.
absl::Status CheckInitialName(const char* field, const std::string& name,
                              const std::string& username, bool admin) {
  const bool reserved = (absl::EqualsIgnoreCase(name, "admin") && !admin) ||
                        (absl::EqualsIgnoreCase(name, "determined") && username != "determined");
  if (!reserved) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      field, ": \"", name, "\" is reserved for the user of that name; choose another name"));
}

absl::Status CheckAgentUser(const v1::AgentUserGroup& group) {
  if (!group.agent_user().empty() && !group.agent_group().empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "agent_user_group: agentUid, agentGid, agentUser and agentGroup cannot be empty; set all of "
      "them");
}

// Whether the caller may change these fields of the user.
absl::Status CheckCanPatch(const auth::Principal& caller, model::UserId id,
                           const v1::PatchUser& patch) {
  const bool limited =
      caller.limit != model::Role::kNone && caller.limit != model::Role::kClusterAdmin;
  if (limited && patch.has_password()) {
    return absl::PermissionDeniedError(
        "this access token is limited to a lower role and cannot set passwords; log in instead");
  }
  if (caller.Holds(model::Permission::kAdministrateUser, 0)) return absl::OkStatus();
  if (caller.user != id) {
    return absl::PermissionDeniedError("only administrators can change other users; ask one");
  }
  if (patch.has_admin() || patch.has_active() || patch.has_agent_user_group() ||
      patch.has_username() || patch.has_remote()) {
    return absl::PermissionDeniedError(
        "users can change only their own display name and password; ask an administrator");
  }
  return absl::OkStatus();
}

// Hashes the password, if there is one; slow.
absl::StatusOr<store::UserPatch> ToPatch(const v1::PatchUser& given, bool allow_blank) {
  store::UserPatch patch;
  if (given.has_username()) {
    DET_RETURN_IF_ERROR(CheckUsername(given.username()));
    patch.username = given.username();
  }
  if (given.has_password()) {
    DET_RETURN_IF_ERROR(auth::CheckNewPassword(given.password(), given.is_hashed(), allow_blank));
    DET_ASSIGN_OR_RETURN(patch.password_hash, auth::HashPassword(auth::ToClientHash(
                                                  given.password(), given.is_hashed())));
  }
  if (given.has_admin()) patch.admin = given.admin();
  if (given.has_active()) patch.active = given.active();
  if (given.has_display_name()) {
    DET_RETURN_IF_ERROR(CheckDisplayName(given.display_name()));
    patch.display_name = given.display_name();
  }
  if (given.has_remote()) patch.remote = given.remote();
  if (given.has_agent_user_group()) {
    DET_RETURN_IF_ERROR(CheckAgentUser(given.agent_user_group()));
    patch.agent_user = FromProto(given.agent_user_group());
  }
  return patch;
}

class UserService final : public ApiService<v1::UserService> {
 public:
  UserService(CallPipeline& calls, store::Store& store, auth::Authenticator& authenticator,
              auth::PasswordQueue& passwords, const base::Clock& clock, bool allow_blank_passwords)
      : ApiService(calls),
        store_(store),
        authenticator_(authenticator),
        passwords_(passwords),
        clock_(clock),
        allow_blank_passwords_(allow_blank_passwords) {}

  grpc::ServerUnaryReactor* GetUsers(grpc::CallbackServerContext* context,
                                     const v1::GetUsersRequest* request,
                                     v1::GetUsersResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller) {
                   return List(caller, *request, response);
                 });
  }

  grpc::ServerUnaryReactor* GetUserSetting(grpc::CallbackServerContext* context,
                                           const v1::GetUserSettingRequest* request,
                                           v1::GetUserSettingResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, response](const auth::Principal& caller) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const auto all, users().ListSettings(caller.user));
                   for (const auto& each : all) *response->add_settings() = ToProto(each);
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* PostUserSetting(grpc::CallbackServerContext* context,
                                            const v1::PostUserSettingRequest* request,
                                            v1::PostUserSettingResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal& caller) {
                   std::vector<store::UserSetting> settings;
                   for (const auto& each : request->settings()) {
                     settings.push_back(FromProto(each));
                   }
                   return users().PutSettings(caller.user, settings);
                 });
  }

  grpc::ServerUnaryReactor* ResetUserSetting(grpc::CallbackServerContext* context,
                                             const v1::ResetUserSettingRequest* request,
                                             v1::ResetUserSettingResponse* response) override {
    return Unary(__func__, context, request, response, [this](const auth::Principal& caller) {
      return users().DropSettings(caller.user);
    });
  }

  grpc::ServerUnaryReactor* GetUser(grpc::CallbackServerContext* context,
                                    const v1::GetUserRequest* request,
                                    v1::GetUserResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) {
                   return Write(users().GetUser(model::UserId(request->user_id())),
                                response->mutable_user());
                 });
  }

  grpc::ServerUnaryReactor* GetUserByUsername(grpc::CallbackServerContext* context,
                                              const v1::GetUserByUsernameRequest* request,
                                              v1::GetUserByUsernameResponse* response) override {
    return Unary(
        __func__, context, request, response, [this, request, response](const auth::Principal&) {
          return Write(users().GetUserByName(request->username()), response->mutable_user());
        });
  }

  grpc::ServerUnaryReactor* PostUser(grpc::CallbackServerContext* context,
                                     const v1::PostUserRequest* request,
                                     v1::PostUserResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller, Done done) {
                   if (request->user().admin()) {
                     absl::Status may = CheckCanMakeAdministrators(caller);
                     if (!may.ok()) return done(std::move(may));
                   }
                   passwords_.Run([this, request,
                                   response] { return Add(*request, response->mutable_user()); },
                                  std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* PatchUser(grpc::CallbackServerContext* context,
                                      const v1::PatchUserRequest* request,
                                      v1::PatchUserResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller, Done done) {
                   Patch(caller, model::UserId(request->user_id()), request->user(),
                         response->mutable_user(), std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* SetUserPassword(grpc::CallbackServerContext* context,
                                            const v1::SetUserPasswordRequest* request,
                                            v1::SetUserPasswordResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller, Done done) {
                   v1::PatchUser patch;
                   patch.set_password(request->password());
                   patch.set_is_hashed(true);
                   Patch(caller, model::UserId(request->user_id()), patch, response->mutable_user(),
                         std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* PatchUsers(grpc::CallbackServerContext* context,
                                       const v1::PatchUsersRequest* request,
                                       v1::PatchUsersResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) {
                   return ActivateMany(*request, response);
                 });
  }

  grpc::ServerUnaryReactor* PostUserActivity(grpc::CallbackServerContext* context,
                                             const v1::PostUserActivityRequest* request,
                                             v1::PostUserActivityResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal& caller) {
                   return RecordActivity(caller.user, *request);
                 });
  }

 private:
  store::Users& users() { return store_.users(); }

  absl::Status RecordActivity(model::UserId user, const v1::PostUserActivityRequest& request) {
    if (request.activity_type() != v1::PostUserActivityRequest::ACTIVITY_TYPE_GET ||
        request.entity_type() != v1::PostUserActivityRequest::ENTITY_TYPE_PROJECT) {
      return absl::InvalidArgumentError(
          "expected activity_type ACTIVITY_TYPE_GET and entity_type ENTITY_TYPE_PROJECT; other "
          "activities are not recorded");
    }
    return store_.projects().RecordVisit(user, request.entity_id(), clock_.Now());
  }

  static absl::Status Write(const absl::StatusOr<store::UserRecord>& user, v1::User* out) {
    if (user.ok()) *out = ToProto(*user);
    return user.status();
  }

  absl::Status List(const auth::Principal& caller, const v1::GetUsersRequest& request,
                    v1::GetUsersResponse* response) {
    DET_ASSIGN_OR_RETURN(const store::UserQuery query, FromProto(request));
    if (!query.roles.empty() && !caller.Holds(model::Permission::kAdministrateUser, 0)) {
      return absl::PermissionDeniedError(
          "only administrators can filter users by role; remove "
          "role_id_assigned_directly_to_user, or ask one");
    }
    DET_ASSIGN_OR_RETURN(const store::UserPage page, users().ListUsers(query));
    for (const store::UserRecord& user : page.users) *response->add_users() = ToProto(user);
    *response->mutable_pagination() =
        ToPagination(request.offset(), request.limit(), response->users_size(), page.total);
    return absl::OkStatus();
  }

  absl::Status Add(const v1::PostUserRequest& request, v1::User* out) {
    const v1::User& given = request.user();
    DET_RETURN_IF_ERROR(CheckUsername(given.username()));
    store::UserRecord user;
    user.username = given.username();
    user.display_name = given.display_name();
    user.admin = given.admin();
    user.active = given.active();
    user.remote = given.remote();
    DET_RETURN_IF_ERROR(CheckDisplayName(user.display_name));
    DET_RETURN_IF_ERROR(CheckInitialName("username", user.username, "", user.admin));
    DET_RETURN_IF_ERROR(CheckInitialName("display_name", user.display_name, "", user.admin));
    if (given.has_agent_user_group()) {
      DET_RETURN_IF_ERROR(CheckAgentUser(given.agent_user_group()));
      user.agent_user = FromProto(given.agent_user_group());
    }
    user.modified_at = clock_.Now();
    if (user.remote && !request.password().empty()) {
      return absl::InvalidArgumentError(
          "password: cannot set a password for a remote user; leave it out");
    }
    if (!user.remote) {
      DET_RETURN_IF_ERROR(
          auth::CheckNewPassword(request.password(), request.is_hashed(), allow_blank_passwords_));
      DET_ASSIGN_OR_RETURN(user.password_hash, auth::HashPassword(auth::ToClientHash(
                                                   request.password(), request.is_hashed())));
    }
    const model::Role role = user.admin ? model::Role::kNone : model::Role::kEditor;
    return Write(users().AddUser(user, role), out);
  }

  void Patch(const auth::Principal& caller, model::UserId id, const v1::PatchUser& patch,
             v1::User* out, Done done) {
    absl::Status may = CheckCanPatch(caller, id, patch);
    if (may.ok() && patch.has_admin()) may = CheckCanMakeAdministrators(caller);
    if (may.ok() && patch.has_password()) may = CheckCanActAs(store_, caller, id);
    if (!may.ok()) return done(std::move(may));
    if (!patch.has_password()) return done(Change(caller, id, patch, out));
    passwords_.Run([this, caller, id, patch, out] { return Change(caller, id, patch, out); },
                   std::move(done));
  }

  absl::Status Change(const auth::Principal& caller, model::UserId id, const v1::PatchUser& given,
                      v1::User* out) {
    DET_ASSIGN_OR_RETURN(const store::UserPatch patch, ToPatch(given, allow_blank_passwords_));
    if (patch.username || patch.display_name) DET_RETURN_IF_ERROR(CheckNames(id, patch));
    DET_ASSIGN_OR_RETURN(const store::UserRecord user, users().ChangeUser(id, patch, clock_.Now()));
    if (patch.password_hash) {
      DET_RETURN_IF_ERROR(store_.access().DeleteLogins(id, caller.token_hash));
    }
    if (!user.active) DET_RETURN_IF_ERROR(store_.access().DeleteUserSessions(id));
    authenticator_.InvalidateUser(id);
    *out = ToProto(user);
    return absl::OkStatus();
  }

  // Checks that the user would not pass for another one. The store checks that usernames are
  // unique.
  absl::Status CheckNames(model::UserId id, const store::UserPatch& patch) {
    DET_ASSIGN_OR_RETURN(const store::UserRecord now, users().GetUser(id));
    const bool admin = patch.admin.value_or(now.admin);
    if (patch.username) {
      DET_RETURN_IF_ERROR(CheckInitialName("username", *patch.username, now.username, admin));
    }
    const std::string name = patch.display_name.value_or("");
    if (name.empty()) return absl::OkStatus();
    DET_RETURN_IF_ERROR(CheckInitialName("display_name", name, now.username, admin));
    DET_ASSIGN_OR_RETURN(const store::UserPage similar, users().ListUsers({.name = name}));
    for (const store::UserRecord& other : similar.users) {
      if (other.id == id || (!absl::EqualsIgnoreCase(other.username, name) &&
                             !absl::EqualsIgnoreCase(other.display_name, name))) {
        continue;
      }
      return absl::InvalidArgumentError(
          absl::StrCat("display_name: another user has the username or display name \"", name,
                       "\"; choose another name"));
    }
    return absl::OkStatus();
  }

  absl::Status ActivateMany(const v1::PatchUsersRequest& request,
                            v1::PatchUsersResponse* response) {
    std::vector<model::UserId> ids;
    for (const int32_t id : request.user_ids()) ids.emplace_back(id);
    if (request.has_filters()) {
      if (!ids.empty()) {
        return absl::InvalidArgumentError(
            "user_ids and filters cannot be combined; keep one of them");
      }
      store::UserQuery query;
      query.name = request.filters().name();
      if (request.filters().has_admin()) query.admin = request.filters().admin();
      DET_ASSIGN_OR_RETURN(const store::UserPage page, users().ListUsers(query));
      for (const store::UserRecord& user : page.users) ids.push_back(user.id);
    }
    v1::PatchUser patch;
    patch.set_active(request.activate());
    for (const model::UserId id : ids) {
      v1::User user;
      const absl::Status changed = Change(auth::Principal(), id, patch, &user);
      v1::UserActionResult* result = response->add_results();
      result->set_id(id.value());
      result->set_error(std::string(changed.message()));
    }
    return absl::OkStatus();
  }

  store::Store& store_;
  auth::Authenticator& authenticator_;
  auth::PasswordQueue& passwords_;
  const base::Clock& clock_;
  const bool allow_blank_passwords_;
};

}  // namespace

std::unique_ptr<Service> MakeUserService(CallPipeline& calls, store::Store& store,
                                         auth::Authenticator& authenticator,
                                         auth::PasswordQueue& passwords, const base::Clock& clock,
                                         bool allow_blank_passwords) {
  return std::make_unique<UserService>(calls, store, authenticator, passwords, clock,
                                       allow_blank_passwords);
}

}  // namespace det::api
