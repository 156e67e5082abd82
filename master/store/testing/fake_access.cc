#include "master/store/testing/fake_access.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/testing/fake_sort.h"

namespace det::store {
namespace {

using Kind = SessionRecord::Kind;

bool IsGood(const SessionRecord& session, absl::Time now) {
  return !session.revoked && !(session.expires_at && *session.expires_at <= now);
}

bool Matches(const SessionRecord& token, const TokenQuery& query) {
  return token.kind == Kind::kAccess && (!query.user || token.user == *query.user) &&
         (!query.active_at || IsGood(token, *query.active_at)) &&
         (query.ids.empty() ||
          std::find(query.ids.begin(), query.ids.end(), token.id) != query.ids.end());
}

void Sort(std::vector<SessionRecord>& items, const TokenQuery& query) {
  const auto by = [&](const auto& key) {
    SortBy(items, query.descending, key, [](const SessionRecord& r) { return r.id; });
  };
  using Sort = TokenQuery::Sort;
  switch (query.sort) {
    case Sort::kId:
      return by([](const SessionRecord& r) { return std::optional(r.id); });
    case Sort::kUser:
      return by([](const SessionRecord& r) { return std::optional(r.user); });
    case Sort::kExpiry:
      return by([](const SessionRecord& r) { return r.expires_at; });
    case Sort::kCreatedAt:
      return by([](const SessionRecord& r) { return std::optional(r.created_at); });
    case Sort::kRevoked:
      return by([](const SessionRecord& r) { return std::optional(r.revoked); });
    case Sort::kDescription:
      return by([](const SessionRecord& r) { return std::optional(r.description); });
  }
}

}  // namespace

absl::StatusOr<int32_t> FakeAccess::PutSession(const SessionRecord& session) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(mutex_);
  const auto [it, inserted] = rows_.sessions.emplace(session.token_hash, session);
  const int32_t id = inserted ? ++rows_.last_session : it->second.id;
  it->second = session;
  it->second.id = id;
  return id;
}

absl::StatusOr<SessionRecord> FakeAccess::GetSession(const std::string& token_hash,
                                                     absl::Time now) {
  std::lock_guard lock(mutex_);
  const auto it = rows_.sessions.find(token_hash);
  if (it == rows_.sessions.end() || !IsGood(it->second, now)) return NoSuchSession();
  return it->second;
}

absl::Status FakeAccess::DeleteSession(const std::string& token_hash) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(mutex_);
  std::erase_if(rows_.sessions, [&](const auto& item) {
    return item.first == token_hash && item.second.kind != Kind::kAccess;
  });
  return absl::OkStatus();
}

absl::Status FakeAccess::DeleteLogins(model::UserId user, const std::string& keep) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(mutex_);
  std::erase_if(rows_.sessions, [&](const auto& item) {
    const SessionRecord& session = item.second;
    return session.kind == Kind::kUser && session.user == user && session.expires_at &&
           item.first != keep;
  });
  return absl::OkStatus();
}

absl::Status FakeAccess::DeleteUserSessions(model::UserId user) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(mutex_);
  std::erase_if(rows_.sessions, [&](const auto& item) {
    return item.second.kind != Kind::kAgent && item.second.user == user;
  });
  return absl::OkStatus();
}

absl::Status FakeAccess::RecordUse(const std::string& token_hash, absl::Time at) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(mutex_);
  const auto it = rows_.sessions.find(token_hash);
  if (it != rows_.sessions.end()) it->second.last_used_at = Canonical(at);
  return absl::OkStatus();
}

absl::StatusOr<TokenPage> FakeAccess::ListTokens(const TokenQuery& query) {
  std::lock_guard lock(mutex_);
  std::vector<SessionRecord> all;
  for (const auto& [hash, session] : rows_.sessions) {
    if (Matches(session, query)) all.push_back(session);
  }
  Sort(all, query);
  const int total = static_cast<int>(all.size());
  const Range range = Resolve(query.window, total);
  return TokenPage{{all.begin() + range.begin, all.begin() + range.end}, total};
}

absl::StatusOr<SessionRecord> FakeAccess::ChangeToken(int32_t id,
                                                      const std::optional<std::string>& description,
                                                      bool revoke) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(mutex_);
  for (auto& [hash, session] : rows_.sessions) {
    if (session.id != id || session.kind != Kind::kAccess) continue;
    if (description) session.description = *description;
    session.revoked = session.revoked || revoke;
    return session;
  }
  return NoSuchToken(id);
}

absl::StatusOr<std::vector<RoleAssignment>> FakeAccess::GetUserRoles(model::UserId user) {
  std::lock_guard lock(mutex_);
  std::vector<RoleAssignment> roles;
  for (const RoleAssignment& each : rows_.roles) {
    if (each.user == user) roles.push_back(each);
  }
  return roles;  // the set is sorted by user, workspace and role
}

absl::StatusOr<std::vector<RoleAssignment>> FakeAccess::GetWorkspaceRoles(int32_t workspace) {
  std::lock_guard lock(mutex_);
  std::vector<RoleAssignment> roles;
  for (const RoleAssignment& each : rows_.roles) {
    if (each.workspace == workspace) roles.push_back(each);
  }
  return roles;
}

absl::Status FakeAccess::AddRole(const RoleAssignment& assignment) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(mutex_);
  rows_.roles.insert(assignment);
  return absl::OkStatus();
}

absl::Status FakeAccess::RemoveRole(const RoleAssignment& assignment) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(mutex_);
  rows_.roles.erase(assignment);
  return absl::OkStatus();
}

}  // namespace det::store
