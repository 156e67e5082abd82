#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "det/api/v1/token.unary.h"
#include "master/api/common/convert.h"
#include "master/api/rpc/api_service.h"
#include "master/api/users/convert_user.h"
#include "master/api/users/delegation.h"
#include "master/api/users/services.h"
#include "master/auth/tokens.h"

namespace det::api {
namespace {

constexpr absl::Duration kDefaultLifespan = absl::Hours(24 * 30);
constexpr absl::Duration kMaxLifespan = absl::Hours(24 * 365 * 100);

// When a token that is created now expires; nullopt: never.
absl::StatusOr<std::optional<absl::Time>> ParseExpiry(const std::string& lifespan, absl::Time now) {
  if (lifespan == "-1") return std::optional<absl::Time>();
  absl::Duration length = kDefaultLifespan;
  const bool good = lifespan.empty() || absl::ParseDuration(lifespan, &length);
  if (good && length > absl::ZeroDuration() && length <= kMaxLifespan) {
    return std::optional<absl::Time>(now + length);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("lifespan: expected a duration such as 720h or 90m, or -1 for a token that "
                   "never expires; found \"",
                   lifespan, "\""));
}

// The maximum role of the new token.
absl::StatusOr<model::Role> ParseMaxRole(const std::string& role) {
  const std::optional<model::Role> parsed = model::ParseRole(role);
  if (parsed) return *parsed;
  return absl::InvalidArgumentError(absl::StrCat(
      "role: expected Viewer, Editor, WorkspaceAdmin, ClusterAdmin or nothing, found \"", role,
      "\""));
}

store::TokenQuery::Sort TokenSortFromProto(v1::GetAccessTokensRequest::SortBy sort) {
  using Sort = store::TokenQuery::Sort;
  switch (sort) {
    case v1::GetAccessTokensRequest::SORT_BY_USER_ID:
      return Sort::kUser;
    case v1::GetAccessTokensRequest::SORT_BY_EXPIRY:
      return Sort::kExpiry;
    case v1::GetAccessTokensRequest::SORT_BY_CREATED_AT:
      return Sort::kCreatedAt;
    case v1::GetAccessTokensRequest::SORT_BY_REVOKED:
      return Sort::kRevoked;
    case v1::GetAccessTokensRequest::SORT_BY_DESCRIPTION:
      return Sort::kDescription;
    default:
      return Sort::kId;  // all tokens have the same type
  }
}

class TokenService final : public ApiService<v1::TokenService> {
 public:
  TokenService(CallPipeline& calls, store::Store& store, auth::Authenticator& authenticator,
               const base::Clock& clock)
      : ApiService(calls), store_(store), authenticator_(authenticator), clock_(clock) {}

  grpc::ServerUnaryReactor* GetAccessTokens(grpc::CallbackServerContext* context,
                                            const v1::GetAccessTokensRequest* request,
                                            v1::GetAccessTokensResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller) {
                   return List(caller, *request, response);
                 });
  }

  grpc::ServerUnaryReactor* PostAccessToken(grpc::CallbackServerContext* context,
                                            const v1::PostAccessTokenRequest* request,
                                            v1::PostAccessTokenResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller) {
                   return Make(caller, *request, response);
                 });
  }

  grpc::ServerUnaryReactor* PatchAccessToken(grpc::CallbackServerContext* context,
                                             const v1::PatchAccessTokenRequest* request,
                                             v1::PatchAccessTokenResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller) {
                   return Change(caller, *request, response->mutable_token_info());
                 });
  }

 private:
  absl::Status List(const auth::Principal& caller, const v1::GetAccessTokensRequest& request,
                    v1::GetAccessTokensResponse* response) {
    store::TokenQuery query;
    query.window = ToWindow(request.offset(), request.limit());
    query.sort = TokenSortFromProto(request.sort_by());
    query.descending = request.order_by() == v1::ORDER_BY_DESC;
    query.ids.assign(request.token_ids().begin(), request.token_ids().end());
    if (!request.show_inactive()) query.active_at = clock_.Now();
    if (!request.username().empty()) {
      DET_ASSIGN_OR_RETURN(const auto user, store_.users().GetUserByName(request.username()));
      query.user = user.id;
    }
    if (!caller.Holds(model::Permission::kAdministrateToken, 0) &&
        query.user.value_or(caller.user) != caller.user) {
      return absl::PermissionDeniedError(
          "only administrators can list the access tokens of other users; ask one");
    }
    if (!caller.Holds(model::Permission::kAdministrateToken, 0)) query.user = caller.user;
    DET_ASSIGN_OR_RETURN(const store::TokenPage page, store_.access().ListTokens(query));
    for (const store::SessionRecord& token : page.tokens) {
      *response->add_token_info() = ToProto(token);
    }
    *response->mutable_pagination() =
        ToPagination(request.offset(), request.limit(), response->token_info_size(), page.total);
    return absl::OkStatus();
  }

  absl::Status Make(const auth::Principal& caller, const v1::PostAccessTokenRequest& request,
                    v1::PostAccessTokenResponse* response) {
    if (caller.access_token != 0) {
      return absl::PermissionDeniedError(
          "access tokens cannot create access tokens; log in with a password");
    }
    const model::UserId user =
        request.user_id() == 0 ? caller.user : model::UserId(request.user_id());
    if (user != caller.user && !caller.Holds(model::Permission::kAdministrateToken, 0)) {
      return absl::PermissionDeniedError(
          "only administrators can create access tokens for other users; ask one");
    }
    DET_RETURN_IF_ERROR(store_.users().GetUser(user).status());
    DET_RETURN_IF_ERROR(CheckCanActAs(store_, caller, user));
    const std::string token = auth::NewToken();
    store::SessionRecord session;
    session.token_hash = auth::HashToken(token);
    session.kind = store::SessionRecord::Kind::kAccess;
    session.user = user;
    session.description = request.description();
    session.created_at = clock_.Now();
    DET_ASSIGN_OR_RETURN(session.expires_at, ParseExpiry(request.lifespan(), session.created_at));
    DET_ASSIGN_OR_RETURN(session.limit, ParseMaxRole(request.role()));
    DET_ASSIGN_OR_RETURN(const int32_t id, store_.access().PutSession(session));
    response->set_token(token);
    response->set_token_id(id);
    return absl::OkStatus();
  }

  absl::Status Change(const auth::Principal& caller, const v1::PatchAccessTokenRequest& request,
                      v1::TokenInfo* out) {
    store::TokenQuery query;
    query.ids = {request.token_id()};
    if (!caller.Holds(model::Permission::kAdministrateToken, 0)) query.user = caller.user;
    DET_ASSIGN_OR_RETURN(const store::TokenPage found, store_.access().ListTokens(query));
    if (found.tokens.empty()) return store::NoSuchToken(request.token_id());
    std::optional<std::string> description;
    if (request.has_description()) description = request.description();
    DET_ASSIGN_OR_RETURN(
        const store::SessionRecord token,
        store_.access().ChangeToken(request.token_id(), description, request.set_revoked()));
    if (token.revoked) authenticator_.InvalidateUser(token.user);
    *out = ToProto(token);
    return absl::OkStatus();
  }

  store::Store& store_;
  auth::Authenticator& authenticator_;
  const base::Clock& clock_;
};

}  // namespace

std::unique_ptr<Service> MakeTokenService(CallPipeline& calls, store::Store& store,
                                          auth::Authenticator& authenticator,
                                          const base::Clock& clock) {
  return std::make_unique<TokenService>(calls, store, authenticator, clock);
}

}  // namespace det::api
