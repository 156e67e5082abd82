#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "det/api/v1/auth.pb.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/api/users/convert_user.h"
#include "master/api/users/services.h"
#include "master/auth/password_queue.h"
#include "master/auth/passwords.h"
#include "master/auth/session.h"
#include "master/auth/tokens.h"
#include "master/core/model/id_text.h"

namespace det::api {
namespace {

class AuthService final : public Service {
 public:
  explicit AuthService(const Edge& edge) : Service("det.api.v1.AuthService"), edge_(edge) {
    Serve("Login", &AuthService::Login);
    Serve("Logout", &AuthService::Logout);
    Serve("CurrentUser", &AuthService::CurrentUser);
    Serve("GetMe", &AuthService::GetMe);
  }

  grpc::ServerUnaryReactor* Login(grpc::CallbackServerContext* context,
                                  const v1::LoginRequest* request, v1::LoginResponse* response) {
    return UnaryNaming(edge_, context, request, "det.api.v1.AuthService.Login",
                       [this, request, response](SayWho say_who, Done done) {
                         edge_.passwords->RunLogin(
                             request->username(),
                             [this, request, response, say_who = std::move(say_who)] {
                               return LogIn(*request, say_who, response);
                             },
                             std::move(done));
                       });
  }

  grpc::ServerUnaryReactor* Logout(grpc::CallbackServerContext* context,
                                   const v1::LogoutRequest* request, v1::LogoutResponse*) {
    return UnaryNow(edge_, context, request, "det.api.v1.AuthService.Logout",
                    [this](const auth::Principal& principal) { return LogOut(principal); });
  }

  grpc::ServerUnaryReactor* CurrentUser(grpc::CallbackServerContext* context,
                                        const v1::CurrentUserRequest* request,
                                        v1::CurrentUserResponse* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.AuthService.CurrentUser",
                    [this, response](const auth::Principal& principal) {
                      return ReadUser(principal, response->mutable_user());
                    });
  }

  grpc::ServerUnaryReactor* GetMe(grpc::CallbackServerContext* context,
                                  const v1::GetMeRequest* request, v1::GetMeResponse* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.AuthService.GetMe",
                    [this, response](const auth::Principal& principal) {
                      return ReadUser(principal, response->mutable_user());
                    });
  }

 private:
  // A login that failed is told of the user whose name was tried.
  absl::Status LogIn(const v1::LoginRequest& request, const SayWho& say_who,
                     v1::LoginResponse* response) {
    absl::StatusOr<store::UserRecord> user =
        edge_.store->people().GetUserByName(request.username());
    if (!user.ok() && !absl::IsNotFound(user.status())) return user.status();
    if (user.ok()) {
      say_who({.kind = auth::PrincipalKind::kUser, .user = user->id, .name = user->username});
    }
    // Checked for unknown users too, so that the time does not tell who exists.
    const bool matches = auth::PasswordMatches(
        auth::ClientHashOf(request.password(), request.is_hashed()),
        user.ok() && !user->remote ? user->password_hash : "", edge_.allow_blank_passwords);
    if (!matches) return absl::PermissionDeniedError("wrong username or password");
    if (!user->active) {
      return absl::PermissionDeniedError("this user is not active; ask an administrator");
    }
    const std::string token = auth::NewToken();
    const absl::Time now = edge_.clock->Now();
    store::SessionRecord session;
    session.token_hash = auth::HashToken(token);
    session.kind = store::SessionRecord::Kind::kUser;
    session.user = user->id;
    session.created_at = now;
    session.expires_at = now + auth::kSessionLifetime;
    DET_RETURN_IF_ERROR(edge_.store->access().PutSession(session).status());
    DET_RETURN_IF_ERROR(edge_.store->people().NoteLogin(user->id, now));
    user->last_auth_at = now;
    response->set_token(token);
    *response->mutable_user() = ToProto(*user);
    return absl::OkStatus();
  }

  absl::Status LogOut(const auth::Principal& principal) {
    if (principal.access_token == 0) return edge_.authenticator->Forget(principal.token_hash);
    DET_RETURN_IF_ERROR(edge_.store->access()
                            .ChangeToken(principal.access_token, std::nullopt, /*revoke=*/true)
                            .status());
    edge_.authenticator->Recheck(principal.user);
    return absl::OkStatus();
  }

  // A task is its experiment's owner.
  absl::StatusOr<model::UserId> UserOf(const auth::Principal& principal) {
    const auto run = model::RunOf(principal.allocation);
    if (!run) return principal.user;
    DET_ASSIGN_OR_RETURN(const auto record, edge_.store->GetExperiment(run->experiment));
    return record.experiment.owner;
  }

  absl::Status ReadUser(const auth::Principal& principal, v1::User* out) {
    DET_ASSIGN_OR_RETURN(const model::UserId id, UserOf(principal));
    DET_ASSIGN_OR_RETURN(const store::UserRecord user, edge_.store->people().GetUser(id));
    *out = ToProto(user);
    return absl::OkStatus();
  }

  const Edge& edge_;
};

}  // namespace

std::unique_ptr<Service> MakeAuthService(const Edge& edge) {
  return std::make_unique<AuthService>(edge);
}

}  // namespace det::api
