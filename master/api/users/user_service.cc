#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/user.pb.h"
#include "master/api/common/convert.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/api/users/convert_user.h"
#include "master/api/users/services.h"
#include "master/auth/password_queue.h"
#include "master/auth/passwords.h"

namespace det::api {
namespace {

constexpr size_t kUsernameLimit = 128;

// It stands in paths, and in lists beside others.
absl::Status CheckUsername(const std::string& name) {
  const auto bad = [](char c) {
    return absl::ascii_isspace(static_cast<unsigned char>(c)) ||
           absl::ascii_iscntrl(static_cast<unsigned char>(c)) || c == '/';
  };
  if (!name.empty() && name.size() <= kUsernameLimit &&
      std::none_of(name.begin(), name.end(), bad)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("username: expected 1 to ", kUsernameLimit,
                                                 " bytes without blanks and '/', found \"", name,
                                                 "\""));
}

// Whether the caller may change what this names of that user.
absl::Status CheckMayPatch(const auth::Principal& caller, model::UserId id,
                           const v1::PatchUser& patch) {
  const bool limited =
      caller.limit != model::Role::kNone && caller.limit != model::Role::kClusterAdmin;
  if (limited && patch.has_password()) {
    return absl::PermissionDeniedError(
        "an access token that may less than its user sets no passwords; log in for that");
  }
  if (caller.RoleIn(0) == model::Role::kClusterAdmin) return absl::OkStatus();
  if (caller.user != id) {
    return absl::PermissionDeniedError("other users are changed by administrators; ask one");
  }
  if (patch.has_admin() || patch.has_active() || patch.has_agent_user_group() ||
      patch.has_username() || patch.has_remote()) {
    return absl::PermissionDeniedError(
        "users change their own display name and password; ask an administrator for the rest");
  }
  return absl::OkStatus();
}

// Hashes, if there is a password in it.
absl::StatusOr<store::UserPatch> ToPatch(const v1::PatchUser& given, bool allow_blank) {
  store::UserPatch patch;
  if (given.has_username()) {
    DET_RETURN_IF_ERROR(CheckUsername(given.username()));
    patch.username = given.username();
  }
  if (given.has_password()) {
    DET_RETURN_IF_ERROR(auth::CheckNewPassword(given.password(), given.is_hashed(), allow_blank));
    DET_ASSIGN_OR_RETURN(patch.password_hash, auth::HashPassword(auth::ClientHashOf(
                                                  given.password(), given.is_hashed())));
  }
  if (given.has_admin()) patch.admin = given.admin();
  if (given.has_active()) patch.active = given.active();
  if (given.has_display_name()) patch.display_name = given.display_name();
  if (given.has_remote()) patch.remote = given.remote();
  if (given.has_agent_user_group()) patch.agent_user = FromProto(given.agent_user_group());
  return patch;
}

class UserService final : public Service {
 public:
  explicit UserService(const Edge& edge) : Service("det.api.v1.UserService"), edge_(edge) {
    Serve("GetUsers", &UserService::GetUsers);
    Serve("GetUserSetting", &UserService::GetUserSetting);
    Serve("PostUserSetting", &UserService::PostUserSetting);
    Serve("ResetUserSetting", &UserService::ResetUserSetting);
    Serve("GetUser", &UserService::GetUser);
    Serve("GetUserByUsername", &UserService::GetUserByUsername);
    Serve("PostUser", &UserService::PostUser);
    Serve("PatchUser", &UserService::PatchUser);
    Serve("SetUserPassword", &UserService::SetUserPassword);
    Serve("PatchUsers", &UserService::PatchUsers);
    Serve("PostUserActivity", &UserService::PostUserActivity);
  }

  grpc::ServerUnaryReactor* GetUsers(grpc::CallbackServerContext* context,
                                     const v1::GetUsersRequest* request,
                                     v1::GetUsersResponse* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.UserService.GetUsers",
                    [this, request, response](const auth::Principal& caller) {
                      return List(caller, *request, response);
                    });
  }

  grpc::ServerUnaryReactor* GetUserSetting(grpc::CallbackServerContext* context,
                                           const v1::GetUserSettingRequest* request,
                                           v1::GetUserSettingResponse* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.UserService.GetUserSetting",
                    [this, response](const auth::Principal& caller) -> absl::Status {
                      DET_ASSIGN_OR_RETURN(const auto all, people().ListSettings(caller.user));
                      for (const auto& each : all) *response->add_settings() = ToProto(each);
                      return absl::OkStatus();
                    });
  }

  grpc::ServerUnaryReactor* PostUserSetting(grpc::CallbackServerContext* context,
                                            const v1::PostUserSettingRequest* request,
                                            v1::PostUserSettingResponse*) {
    return UnaryNow(edge_, context, request, "det.api.v1.UserService.PostUserSetting",
                    [this, request](const auth::Principal& caller) {
                      std::vector<store::UserSetting> settings;
                      for (const auto& each : request->settings()) {
                        settings.push_back(FromProto(each));
                      }
                      return people().PutSettings(caller.user, settings);
                    });
  }

  grpc::ServerUnaryReactor* ResetUserSetting(grpc::CallbackServerContext* context,
                                             const v1::ResetUserSettingRequest* request,
                                             v1::ResetUserSettingResponse*) {
    return UnaryNow(
        edge_, context, request, "det.api.v1.UserService.ResetUserSetting",
        [this](const auth::Principal& caller) { return people().DropSettings(caller.user); });
  }

  grpc::ServerUnaryReactor* GetUser(grpc::CallbackServerContext* context,
                                    const v1::GetUserRequest* request,
                                    v1::GetUserResponse* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.UserService.GetUser",
                    [this, request, response](const auth::Principal&) {
                      return Write(people().GetUser(model::UserId(request->user_id())),
                                   response->mutable_user());
                    });
  }

  grpc::ServerUnaryReactor* GetUserByUsername(grpc::CallbackServerContext* context,
                                              const v1::GetUserByUsernameRequest* request,
                                              v1::GetUserByUsernameResponse* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.UserService.GetUserByUsername",
                    [this, request, response](const auth::Principal&) {
                      return Write(people().GetUserByName(request->username()),
                                   response->mutable_user());
                    });
  }

  grpc::ServerUnaryReactor* PostUser(grpc::CallbackServerContext* context,
                                     const v1::PostUserRequest* request,
                                     v1::PostUserResponse* response) {
    return UnaryOnce(
        edge_, context, request, response, "det.api.v1.UserService.PostUser",
        [this, request, response](const auth::Principal&, Done done) {
          edge_.passwords->Run(
              [this, request, response] { return Add(*request, response->mutable_user()); },
              std::move(done));
        });
  }

  grpc::ServerUnaryReactor* PatchUser(grpc::CallbackServerContext* context,
                                      const v1::PatchUserRequest* request,
                                      v1::PatchUserResponse* response) {
    return Unary(edge_, context, request, "det.api.v1.UserService.PatchUser",
                 [this, request, response](const auth::Principal& caller, Done done) {
                   Patch(caller, model::UserId(request->user_id()), request->user(),
                         response->mutable_user(), std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* SetUserPassword(grpc::CallbackServerContext* context,
                                            const v1::SetUserPasswordRequest* request,
                                            v1::SetUserPasswordResponse* response) {
    return Unary(edge_, context, request, "det.api.v1.UserService.SetUserPassword",
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
                                       v1::PatchUsersResponse* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.UserService.PatchUsers",
                    [this, request, response](const auth::Principal&) {
                      return ActivateMany(*request, response);
                    });
  }

  grpc::ServerUnaryReactor* PostUserActivity(grpc::CallbackServerContext* context,
                                             const v1::PostUserActivityRequest* request,
                                             v1::PostUserActivityResponse*) {
    return UnaryNow(edge_, context, request, "det.api.v1.UserService.PostUserActivity",
                    [this, request](const auth::Principal& caller) {
                      return NoteActivity(caller.user, *request);
                    });
  }

 private:
  store::People& people() { return edge_.store->people(); }

  absl::Status NoteActivity(model::UserId user, const v1::PostUserActivityRequest& request) {
    if (request.activity_type() != v1::PostUserActivityRequest::ACTIVITY_TYPE_GET ||
        request.entity_type() != v1::PostUserActivityRequest::ENTITY_TYPE_PROJECT) {
      return absl::InvalidArgumentError(
          "only ACTIVITY_TYPE_GET of an ENTITY_TYPE_PROJECT is kept: activity_type and entity_type "
          "must say so");
    }
    return edge_.store->projects().NoteVisit(user, request.entity_id(), edge_.clock->Now());
  }

  static absl::Status Write(const absl::StatusOr<store::UserRecord>& user, v1::User* out) {
    if (user.ok()) *out = ToProto(*user);
    return user.status();
  }

  absl::Status List(const auth::Principal& caller, const v1::GetUsersRequest& request,
                    v1::GetUsersResponse* response) {
    DET_ASSIGN_OR_RETURN(const store::UserQuery query, FromProto(request));
    if (!query.roles.empty() && caller.RoleIn(0) != model::Role::kClusterAdmin) {
      return absl::PermissionDeniedError(
          "who has which role is told to administrators; leave out "
          "role_id_assigned_directly_to_user, or ask one");
    }
    DET_ASSIGN_OR_RETURN(const store::UserPage page, people().ListUsers(query));
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
    if (given.has_agent_user_group()) user.agent_user = FromProto(given.agent_user_group());
    user.modified_at = edge_.clock->Now();
    if (!user.remote) {
      DET_RETURN_IF_ERROR(auth::CheckNewPassword(request.password(), request.is_hashed(),
                                                 edge_.allow_blank_passwords));
      DET_ASSIGN_OR_RETURN(user.password_hash, auth::HashPassword(auth::ClientHashOf(
                                                   request.password(), request.is_hashed())));
    }
    const model::Role role = user.admin ? model::Role::kNone : model::Role::kEditor;
    return Write(people().AddUser(user, role), out);
  }

  void Patch(const auth::Principal& caller, model::UserId id, const v1::PatchUser& patch,
             v1::User* out, Done done) {
    if (const absl::Status may = CheckMayPatch(caller, id, patch); !may.ok()) return done(may);
    if (!patch.has_password()) return done(Change(caller, id, patch, out));
    edge_.passwords->Run([this, caller, id, patch, out] { return Change(caller, id, patch, out); },
                         std::move(done));
  }

  absl::Status Change(const auth::Principal& caller, model::UserId id, const v1::PatchUser& given,
                      v1::User* out) {
    DET_ASSIGN_OR_RETURN(const store::UserPatch patch, ToPatch(given, edge_.allow_blank_passwords));
    DET_ASSIGN_OR_RETURN(const store::UserRecord user,
                         people().ChangeUser(id, patch, edge_.clock->Now()));
    if (patch.password_hash) {
      DET_RETURN_IF_ERROR(edge_.store->access().DeleteLogins(id, caller.token_hash));
    }
    if (!user.active) DET_RETURN_IF_ERROR(edge_.store->access().DeleteSessionsOf(id));
    edge_.authenticator->Recheck(id);
    *out = ToProto(user);
    return absl::OkStatus();
  }

  absl::Status ActivateMany(const v1::PatchUsersRequest& request,
                            v1::PatchUsersResponse* response) {
    std::vector<model::UserId> ids;
    for (const int32_t id : request.user_ids()) ids.emplace_back(id);
    if (request.has_filters()) {
      if (!ids.empty()) {
        return absl::InvalidArgumentError("user_ids and filters are given; keep one of them");
      }
      store::UserQuery query;
      query.name = request.filters().name();
      if (request.filters().has_admin()) query.admin = request.filters().admin();
      DET_ASSIGN_OR_RETURN(const store::UserPage page, people().ListUsers(query));
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

  const Edge& edge_;
};

}  // namespace

std::unique_ptr<Service> MakeUserService(const Edge& edge) {
  return std::make_unique<UserService>(edge);
}

}  // namespace det::api
