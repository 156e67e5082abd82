#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "det/api/v1/auth.unary.h"
#include "master/api/rpc/api_service.h"
#include "master/api/users/convert_user.h"
#include "master/api/users/services.h"
#include "master/auth/password_queue.h"
#include "master/auth/passwords.h"
#include "master/auth/tokens.h"
#include "master/core/model/id_text.h"

namespace det::api {
namespace {

class AuthService final : public ApiService<v1::AuthService> {
 public:
  AuthService(CallPipeline& calls, store::Store& store, auth::Authenticator& authenticator,
              auth::PasswordQueue& passwords, const base::Clock& clock, bool allow_blank_passwords)
      : ApiService(calls),
        store_(store),
        authenticator_(authenticator),
        passwords_(passwords),
        clock_(clock),
        allow_blank_passwords_(allow_blank_passwords) {}

  grpc::ServerUnaryReactor* Login(grpc::CallbackServerContext* context,
                                  const v1::LoginRequest* request,
                                  v1::LoginResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](Call& call, Done done) {
                   passwords_.RunLogin(
                       request->username(),
                       [this, request, response, &call] { return LogIn(*request, call, response); },
                       std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* Logout(grpc::CallbackServerContext* context,
                                   const v1::LogoutRequest* request,
                                   v1::LogoutResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this](const auth::Principal& principal) { return LogOut(principal); });
  }

  grpc::ServerUnaryReactor* CurrentUser(grpc::CallbackServerContext* context,
                                        const v1::CurrentUserRequest* request,
                                        v1::CurrentUserResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, response](const auth::Principal& principal) {
                   return ReadUser(principal, response->mutable_user());
                 });
  }

  grpc::ServerUnaryReactor* GetMe(grpc::CallbackServerContext* context,
                                  const v1::GetMeRequest* request,
                                  v1::GetMeResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, response](const auth::Principal& principal) {
                   return ReadUser(principal, response->mutable_user());
                 });
  }

 private:
  // Sets the principal of the call also if the login fails, so that the audit record names the
  // user.
  absl::Status LogIn(const v1::LoginRequest& request, Call& call, v1::LoginResponse* response) {
    if (request.username().empty()) {
      return absl::InvalidArgumentError("username: expected the name of a user, found nothing");
    }
    absl::StatusOr<store::UserRecord> user = store_.users().GetUserByName(request.username());
    if (!user.ok() && !absl::IsNotFound(user.status())) return user.status();
    if (user.ok()) {
      call.SetPrincipal(
          {.kind = auth::PrincipalKind::kUser, .user = user->id, .name = user->username});
    }
    // Unknown users are checked too, so that the response time does not reveal which users exist.
    const bool matches = auth::PasswordMatches(
        auth::ToClientHash(request.password(), request.is_hashed()),
        user.ok() && !user->remote ? user->password_hash : "", allow_blank_passwords_);
    if (!matches) {
      return absl::UnauthenticatedError("invalid credentials: the username or password is wrong");
    }
    if (!user->active) {
      return absl::PermissionDeniedError("user is not active; ask an administrator to activate it");
    }
    const std::string token = auth::NewToken();
    const absl::Time now = clock_.Now();
    store::SessionRecord session;
    session.token_hash = auth::HashToken(token);
    session.kind = store::SessionRecord::Kind::kUser;
    session.user = user->id;
    session.created_at = now;
    session.expires_at = now + auth::kSessionLifetime;
    DET_RETURN_IF_ERROR(store_.access().PutSession(session).status());
    DET_RETURN_IF_ERROR(store_.users().RecordLogin(user->id, now));
    user->last_auth_at = now;
    response->set_token(token);
    *response->mutable_user() = ToProto(*user);
    return absl::OkStatus();
  }

  absl::Status LogOut(const auth::Principal& principal) {
    if (!principal.allocation.value().empty()) {
      return absl::InvalidArgumentError(
          "cannot log out: this is the token of a task, which ends with it");
    }
    if (principal.access_token == 0) return authenticator_.EndSession(principal.token_hash);
    DET_RETURN_IF_ERROR(store_.access()
                            .ChangeToken(principal.access_token, std::nullopt, /*revoke=*/true)
                            .status());
    authenticator_.InvalidateUser(principal.user);
    return absl::OkStatus();
  }

  // A task acts as its owner, a trial as that of its experiment.
  absl::StatusOr<model::UserId> GetUserId(const auth::Principal& principal) {
    if (const auto task = model::ParseOtherTask(principal.allocation)) {
      DET_ASSIGN_OR_RETURN(const auto record, store_.tasks().Get(*task));
      return record.task.owner;
    }
    const auto run = model::ParseAllocationId(principal.allocation);
    if (!run) return principal.user;
    DET_ASSIGN_OR_RETURN(const auto record, store_.GetExperiment(run->experiment));
    return record.experiment.owner;
  }

  absl::Status ReadUser(const auth::Principal& principal, v1::User* out) {
    DET_ASSIGN_OR_RETURN(const model::UserId id, GetUserId(principal));
    DET_ASSIGN_OR_RETURN(const store::UserRecord user, store_.users().GetUser(id));
    *out = ToProto(user);
    return absl::OkStatus();
  }

  store::Store& store_;
  auth::Authenticator& authenticator_;
  auth::PasswordQueue& passwords_;
  const base::Clock& clock_;
  const bool allow_blank_passwords_;
};

}  // namespace

std::unique_ptr<Service> MakeAuthService(CallPipeline& calls, store::Store& store,
                                         auth::Authenticator& authenticator,
                                         auth::PasswordQueue& passwords, const base::Clock& clock,
                                         bool allow_blank_passwords) {
  return std::make_unique<AuthService>(calls, store, authenticator, passwords, clock,
                                       allow_blank_passwords);
}

}  // namespace det::api
