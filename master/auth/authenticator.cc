#include "master/auth/authenticator.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/model/id_text.h"
#include "master/core/model/states.h"

namespace det::auth {
namespace {

// How long a cached session stays valid after it was ended elsewhere.
constexpr absl::Duration kCacheLifetime = absl::Seconds(30);
constexpr size_t kMaxCachedSessions = 10000;
// Resolution of the time of an access token's last use.
constexpr absl::Duration kUseStep = absl::Minutes(1);

}  // namespace

Authenticator::Authenticator(store::Store* store, const base::Clock* clock,
                             AllocationTokens allocation_tokens, AuthzType type)
    : store_(store), clock_(clock), allocation_tokens_(std::move(allocation_tokens)), type_(type) {}

absl::StatusOr<Principal> Authenticator::Authenticate(std::string_view header) {
  if (header.empty()) return Principal{};
  constexpr std::string_view kScheme = "Bearer ";
  if (header.size() <= kScheme.size() ||
      !absl::EqualsIgnoreCase(absl::string_view(header.data(), kScheme.size()),
                              absl::string_view(kScheme.data(), kScheme.size()))) {
    return absl::UnauthenticatedError(
        "invalid credentials: the Authorization header must be `Bearer <token>`");
  }
  const std::string_view token = header.substr(kScheme.size());
  if (std::optional<model::AllocationId> allocation = allocation_tokens_.Verify(token)) {
    return Principal{.kind = PrincipalKind::kAllocation, .allocation = *std::move(allocation)};
  }
  const std::string hash = HashToken(token);
  const absl::Time now = clock_->Now();
  if (const auto allocation = allocation_tokens_.VerifyForOwner(token)) {
    return FindOwner(*allocation, hash, now);
  }
  if (std::optional<Principal> cached = FindCached(hash, now)) return *std::move(cached);
  return FindPrincipal(hash, now);
}

absl::StatusOr<Principal> Authenticator::FindPrincipal(const std::string& hash, absl::Time now) {
  const int64_t invalidations = GetInvalidations();
  const absl::StatusOr<store::SessionRecord> session = store_->access().GetSession(hash, now);
  if (absl::IsNotFound(session.status())) {
    return absl::UnauthenticatedError(
        "invalid credentials: the token is unknown or has expired; log in again");
  }
  if (!session.ok()) return session.status();
  DET_ASSIGN_OR_RETURN(const Principal principal, MakePrincipal(*session));
  RecordUse(*session, now);
  Cache(hash, principal,
        std::min(now + kCacheLifetime, session->expires_at.value_or(absl::InfiniteFuture())),
        invalidations);
  return principal;
}

absl::StatusOr<Principal> Authenticator::FindOwner(const model::AllocationId& allocation,
                                                   const std::string& hash, absl::Time now) {
  // Not cached: the token must be rejected as soon as the allocation has ended.
  const absl::StatusOr<experiment::Allocation> found = store_->GetAllocation(allocation);
  if (!found.ok() && !absl::IsNotFound(found.status())) return found.status();
  const auto run = model::ParseAllocationId(allocation);
  const auto task = model::ParseOtherTask(allocation);
  if (!found.ok() || found->state == model::AllocationState::kTerminated || (!run && !task)) {
    return absl::UnauthenticatedError("invalid credentials: the task of this token has ended");
  }
  if (std::optional<Principal> cached = FindCached(hash, now)) return *std::move(cached);
  const int64_t invalidations = GetInvalidations();
  model::UserId owner;
  if (task) {
    DET_ASSIGN_OR_RETURN(const store::TaskRecord record, store_->tasks().Get(*task));
    owner = record.task.owner;
  } else {
    DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record,
                         store_->GetExperiment(run->experiment));
    owner = record.experiment.owner;
  }
  // Programs of a task work with experiments. They, and tasks of others on the same machine, must
  // not administrate the cluster.
  DET_ASSIGN_OR_RETURN(Principal principal, MakeUser(owner, model::Role::kEditor));
  principal.token_hash = hash;
  principal.allocation = allocation;
  Cache(hash, principal, now + kCacheLifetime, invalidations);
  return principal;
}

std::optional<Principal> Authenticator::FindCached(const std::string& hash, absl::Time now) {
  std::lock_guard lock(mutex_);
  const auto it = cache_.find(hash);
  if (it == cache_.end() || now >= it->second.until) return std::nullopt;
  return it->second.principal;
}

void Authenticator::Cache(const std::string& hash, const Principal& principal, absl::Time until,
                          int64_t invalidations) {
  std::lock_guard lock(mutex_);
  if (invalidations != invalidations_) return;
  if (cache_.size() >= kMaxCachedSessions) cache_.clear();
  cache_[hash] = {principal, until};
}

absl::StatusOr<Principal> Authenticator::MakePrincipal(const store::SessionRecord& session) {
  Principal principal;
  if (session.kind == store::SessionRecord::Kind::kAgent) {
    principal.kind = PrincipalKind::kAgent;
    principal.user = session.user;
  } else {
    DET_ASSIGN_OR_RETURN(principal, MakeUser(session.user, session.limit));
    if (session.kind == store::SessionRecord::Kind::kAccess) principal.access_token = session.id;
  }
  principal.token_hash = session.token_hash;
  return principal;
}

absl::StatusOr<Principal> Authenticator::MakeUser(model::UserId id, model::Role limit) {
  const absl::StatusOr<store::UserRecord> user = store_->users().GetUser(id);
  if (!user.ok() && !absl::IsNotFound(user.status())) return user.status();
  if (!user.ok() || !user->active) {
    return absl::UnauthenticatedError("the token's user is deactivated; ask an administrator");
  }
  Principal principal{.kind = PrincipalKind::kUser, .user = id, .limit = limit};
  principal.name = user->username;
  principal.basic = type_ == AuthzType::kBasic;
  principal.admin =
      user->admin && (limit == model::Role::kNone || limit == model::Role::kClusterAdmin);
  // Without roles, an administrator needs nothing besides `admin`.
  if (!principal.basic || !principal.admin) {
    DET_ASSIGN_OR_RETURN(principal.roles, ReadRoles(id));
  }
  // The limit applies to what an administrator may do.
  if (user->admin && !principal.admin) {
    principal.roles.push_back({.workspace = 0, .role = model::Role::kClusterAdmin});
  }
  return principal;
}

absl::StatusOr<std::vector<WorkspaceRole>> Authenticator::ReadRoles(model::UserId user) {
  if (type_ == AuthzType::kBasic) {
    store::WorkspaceQuery query;
    query.owner_ids = {user};
    DET_ASSIGN_OR_RETURN(const store::WorkspacePage page,
                         store_->workspaces().ListWorkspaces(query));
    std::vector<int32_t> owned;
    for (const store::WorkspaceRecord& workspace : page.workspaces) owned.push_back(workspace.id);
    return MakeRolesForBasicMode(owned);
  }
  DET_ASSIGN_OR_RETURN(const auto own, store_->access().GetUserRoles(user));
  DET_ASSIGN_OR_RETURN(const auto of_groups, store_->groups().ListRolesOfUser(user));
  std::vector<store::RoleRecord> created;
  const auto is_created = [](const auto& each) { return each.role.is_created(); };
  if (std::any_of(own.begin(), own.end(), is_created) ||
      std::any_of(of_groups.begin(), of_groups.end(), is_created)) {
    DET_ASSIGN_OR_RETURN(created, store_->groups().ListRoles());
  }
  return MakeRoles(own, of_groups, created);
}

void Authenticator::RecordUse(const store::SessionRecord& session, absl::Time now) {
  if (session.kind != store::SessionRecord::Kind::kAccess) return;
  if (session.last_used_at && now - *session.last_used_at < kUseStep) return;
  // Only informational: a failure does not fail the call.
  store_->access().RecordUse(session.token_hash, now).IgnoreError();
}

absl::StatusOr<Principal> Authenticator::Authorize(std::string_view method,
                                                   std::string_view header) {
  const Requirement requirement = GetRequirement(method);
  if (requirement.is_public) return Principal{};
  DET_ASSIGN_OR_RETURN(Principal principal, Authenticate(header));
  DET_RETURN_IF_ERROR(auth::Authorize(requirement, principal));
  return principal;
}

absl::Status Authenticator::EndSession(const std::string& token_hash) {
  DET_RETURN_IF_ERROR(store_->access().DeleteSession(token_hash));
  std::lock_guard lock(mutex_);
  ++invalidations_;
  cache_.erase(token_hash);
  return absl::OkStatus();
}

void Authenticator::InvalidateUser(model::UserId user) {
  std::lock_guard lock(mutex_);
  ++invalidations_;
  std::erase_if(cache_, [&](const auto& item) {
    return item.second.principal.kind == PrincipalKind::kUser && item.second.principal.user == user;
  });
}

void Authenticator::InvalidateAll() {
  std::lock_guard lock(mutex_);
  ++invalidations_;
  cache_.clear();
}

int64_t Authenticator::GetInvalidations() const {
  std::lock_guard lock(mutex_);
  return invalidations_;
}

}  // namespace det::auth
