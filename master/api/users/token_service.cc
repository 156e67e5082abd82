#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "det/api/v1/token.pb.h"
#include "master/api/common/convert.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/api/users/convert_user.h"
#include "master/api/users/services.h"
#include "master/auth/tokens.h"

namespace det::api {
namespace {

constexpr absl::Duration kDefaultLifespan = absl::Hours(24 * 30);
constexpr absl::Duration kLongestLifespan = absl::Hours(24 * 365 * 100);

// When a token that is made now ends; nothing: never.
absl::StatusOr<std::optional<absl::Time>> ExpiryOf(const std::string& lifespan, absl::Time now) {
  if (lifespan == "-1") return std::optional<absl::Time>();
  absl::Duration length = kDefaultLifespan;
  const bool good = lifespan.empty() || absl::ParseDuration(lifespan, &length);
  if (good && length > absl::ZeroDuration() && length <= kLongestLifespan) {
    return std::optional<absl::Time>(now + length);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("lifespan: expected a duration such as 720h or 90m, or -1 for a token that "
                   "never expires; found \"",
                   lifespan, "\""));
}

// What the new token may at most.
absl::StatusOr<model::Role> LimitOf(const std::string& role) {
  const std::optional<model::Role> asked = model::ParseRole(role);
  if (asked) return *asked;
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
      return Sort::kId;  // they are all of one type
  }
}

class TokenService final : public Service {
 public:
  explicit TokenService(const Edge& edge) : Service("det.api.v1.TokenService"), edge_(edge) {
    Serve("GetAccessTokens", &TokenService::GetAccessTokens);
    Serve("PostAccessToken", &TokenService::PostAccessToken);
    Serve("PatchAccessToken", &TokenService::PatchAccessToken);
  }

  grpc::ServerUnaryReactor* GetAccessTokens(grpc::CallbackServerContext* context,
                                            const v1::GetAccessTokensRequest* request,
                                            v1::GetAccessTokensResponse* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.TokenService.GetAccessTokens",
                    [this, request, response](const auth::Principal& caller) {
                      return List(caller, *request, response);
                    });
  }

  grpc::ServerUnaryReactor* PostAccessToken(grpc::CallbackServerContext* context,
                                            const v1::PostAccessTokenRequest* request,
                                            v1::PostAccessTokenResponse* response) {
    return UnaryOnceNow(edge_, context, request, response,
                        "det.api.v1.TokenService.PostAccessToken",
                        [this, request, response](const auth::Principal& caller) {
                          return Make(caller, *request, response);
                        });
  }

  grpc::ServerUnaryReactor* PatchAccessToken(grpc::CallbackServerContext* context,
                                             const v1::PatchAccessTokenRequest* request,
                                             v1::PatchAccessTokenResponse* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.TokenService.PatchAccessToken",
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
    if (!request.show_inactive()) query.active_at = edge_.clock->Now();
    if (!request.username().empty()) {
      DET_ASSIGN_OR_RETURN(const auto user,
                           edge_.store->people().GetUserByName(request.username()));
      query.user = user.id;
    }
    if (caller.RoleIn(0) != model::Role::kClusterAdmin &&
        query.user.value_or(caller.user) != caller.user) {
      return absl::PermissionDeniedError(
          "the access tokens of others are shown to administrators; ask one");
    }
    if (caller.RoleIn(0) != model::Role::kClusterAdmin) query.user = caller.user;
    DET_ASSIGN_OR_RETURN(const store::TokenPage page, edge_.store->access().ListTokens(query));
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
          "an access token makes no other, which would outlive it; log in for that");
    }
    const model::UserId user =
        request.user_id() == 0 ? caller.user : model::UserId(request.user_id());
    if (user != caller.user && caller.RoleIn(0) != model::Role::kClusterAdmin) {
      return absl::PermissionDeniedError(
          "access tokens of others are made by administrators; ask one");
    }
    DET_RETURN_IF_ERROR(edge_.store->people().GetUser(user).status());
    const std::string token = auth::NewToken();
    store::SessionRecord session;
    session.token_hash = auth::HashToken(token);
    session.kind = store::SessionRecord::Kind::kAccess;
    session.user = user;
    session.description = request.description();
    session.created_at = edge_.clock->Now();
    DET_ASSIGN_OR_RETURN(session.expires_at, ExpiryOf(request.lifespan(), session.created_at));
    DET_ASSIGN_OR_RETURN(session.limit, LimitOf(request.role()));
    DET_ASSIGN_OR_RETURN(const int32_t id, edge_.store->access().PutSession(session));
    response->set_token(token);
    response->set_token_id(id);
    return absl::OkStatus();
  }

  absl::Status Change(const auth::Principal& caller, const v1::PatchAccessTokenRequest& request,
                      v1::TokenInfo* out) {
    store::TokenQuery query;
    query.ids = {request.token_id()};
    if (caller.RoleIn(0) != model::Role::kClusterAdmin) query.user = caller.user;
    DET_ASSIGN_OR_RETURN(const store::TokenPage found, edge_.store->access().ListTokens(query));
    if (found.tokens.empty()) return store::NoSuchToken(request.token_id());
    std::optional<std::string> description;
    if (request.has_description()) description = request.description();
    DET_ASSIGN_OR_RETURN(
        const store::SessionRecord token,
        edge_.store->access().ChangeToken(request.token_id(), description, request.set_revoked()));
    if (token.revoked) edge_.authenticator->Recheck(token.user);
    *out = ToProto(token);
    return absl::OkStatus();
  }

  const Edge& edge_;
};

}  // namespace

std::unique_ptr<Service> MakeTokenService(const Edge& edge) {
  return std::make_unique<TokenService>(edge);
}

}  // namespace det::api
