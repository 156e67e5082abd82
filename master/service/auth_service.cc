#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "det/api/v1/auth.grpc.pb.h"
#include "master/auth/passwords.h"
#include "master/auth/tokens.h"
#include "master/service/call.h"
#include "master/service/services.h"

namespace det::service {
namespace {

namespace api = det::api::v1;

// How long a login lasts.
constexpr absl::Duration kSession = absl::Hours(24 * 7);

api::User ToProto(const store::UserRecord& user) {
  api::User out;
  out.set_id(user.id.value());
  out.set_username(user.username);
  out.set_admin(user.admin);
  out.set_active(user.active);
  out.set_display_name(user.display_name.empty() ? user.username : user.display_name);
  return out;
}

class AuthService final : public api::AuthService::CallbackService {
 public:
  explicit AuthService(const Edge& edge) : edge_(edge) {}

  grpc::ServerUnaryReactor* Login(grpc::CallbackServerContext* context,
                                  const api::LoginRequest* request,
                                  api::LoginResponse* response) override {
    return UnaryNow(
        edge_, context, request, "det.api.v1.AuthService.Login",
        [this, request, response](const auth::Principal&) { return LogIn(*request, response); });
  }

  grpc::ServerUnaryReactor* Logout(grpc::CallbackServerContext* context,
                                   const api::LogoutRequest* request,
                                   api::LogoutResponse*) override {
    return UnaryNow(edge_, context, request, "det.api.v1.AuthService.Logout",
                    [this](const auth::Principal& principal) {
                      return edge_.authenticator->Forget(principal.token_hash);
                    });
  }

  grpc::ServerUnaryReactor* CurrentUser(grpc::CallbackServerContext* context,
                                        const api::CurrentUserRequest* request,
                                        api::CurrentUserResponse* response) override {
    return UnaryNow(edge_, context, request, "det.api.v1.AuthService.CurrentUser",
                    [this, response](const auth::Principal& principal) {
                      return ReadUser(principal, response->mutable_user());
                    });
  }

  grpc::ServerUnaryReactor* GetMe(grpc::CallbackServerContext* context,
                                  const api::GetMeRequest* request,
                                  api::GetMeResponse* response) override {
    return UnaryNow(edge_, context, request, "det.api.v1.AuthService.GetMe",
                    [this, response](const auth::Principal& principal) {
                      return ReadUser(principal, response->mutable_user());
                    });
  }

 private:
  absl::Status LogIn(const api::LoginRequest& request, api::LoginResponse* response) {
    absl::StatusOr<store::UserRecord> user = edge_.store->GetUserByName(request.username());
    if (!user.ok() && !absl::IsNotFound(user.status())) return user.status();
    // Checked for unknown users too, so that the time does not tell who exists.
    const bool matches =
        auth::PasswordMatches(request.password(), user.ok() ? user->password_hash : "");
    if (!user.ok() || !user->active || !matches) {
      return absl::UnauthenticatedError("wrong username or password");
    }
    const std::string token = auth::NewToken();
    DET_RETURN_IF_ERROR(edge_.store->PutSession({.token_hash = auth::HashToken(token),
                                                 .kind = store::SessionRecord::Kind::kUser,
                                                 .user = user->id,
                                                 .expires_at = edge_.clock->Now() + kSession}));
    response->set_token(token);
    *response->mutable_user() = ToProto(*user);
    return absl::OkStatus();
  }

  absl::Status ReadUser(const auth::Principal& principal, api::User* out) {
    DET_ASSIGN_OR_RETURN(const store::UserRecord user, edge_.store->GetUser(principal.user));
    *out = ToProto(user);
    return absl::OkStatus();
  }

  const Edge& edge_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAuthService(const Edge& edge) {
  return std::make_unique<AuthService>(edge);
}

}  // namespace det::service
