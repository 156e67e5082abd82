#include "master/store/postgres/sql_access.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/store/interfaces/groups.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/query.h"

namespace det::store {
namespace {

using Kind = SessionRecord::Kind;

#define DET_SESSION_COLUMNS                                                      \
  "id, token_hash, kind, user_id, micros(expires_at), description, role_limit, " \
  "micros(created_at), "                                                         \
  "micros(last_used_at), revoked"

constexpr char kAccessPut[] = R"sql(
INSERT INTO sessions (token_hash, kind, user_id, expires_at, description, role_limit, created_at,
                      last_used_at, revoked)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (token_hash) DO UPDATE SET kind = excluded.kind, user_id = excluded.user_id,
  expires_at = excluded.expires_at, description = excluded.description,
  role_limit = excluded.role_limit, created_at = excluded.created_at,
  last_used_at = excluded.last_used_at, revoked = excluded.revoked
RETURNING id)sql";
constexpr char kGet[] = "SELECT " DET_SESSION_COLUMNS
                        " FROM sessions WHERE token_hash = $1 AND NOT revoked AND "
                        "(expires_at IS NULL OR expires_at > $2)";
constexpr char kAccessDelete[] = "DELETE FROM sessions WHERE token_hash = $1 AND kind <> 'access'";
constexpr char kDeleteLogins[] =
    "DELETE FROM sessions WHERE user_id = $1 AND kind = 'user' AND expires_at IS NOT NULL AND "
    "token_hash <> $2";
constexpr char kDeleteAll[] = "DELETE FROM sessions WHERE user_id = $1 AND kind <> 'agent'";
constexpr char kRecordUse[] = "UPDATE sessions SET last_used_at = $2 WHERE token_hash = $1";
constexpr char kAccessFrom[] = R"sql( FROM sessions WHERE kind = 'access'
  AND ($1::int[] IS NULL OR id = ANY($1::int[])) AND ($2::int IS NULL OR user_id = $2::int)
  AND ($3::timestamptz IS NULL OR
       (NOT revoked AND (expires_at IS NULL OR expires_at > $3::timestamptz))))sql";
constexpr char kAccessChange[] =
    "UPDATE sessions SET description = coalesce($2::text, description), "
    "revoked = revoked OR $3::boolean WHERE id = $1 AND kind = 'access' "
    "RETURNING " DET_SESSION_COLUMNS;

const char* ToText(Kind kind) {
  switch (kind) {
    case Kind::kUser:
      return "user";
    case Kind::kAccess:
      return "access";
    case Kind::kAgent:
      return "agent";
  }
  return "";
}

Kind ToKind(std::string_view text) {
  if (text == "access") return Kind::kAccess;
  return text == "agent" ? Kind::kAgent : Kind::kUser;
}

SessionRecord ToSession(const Result& result, int row) {
  SessionRecord session;
  session.id = static_cast<int32_t>(result.Int(row, 0));
  session.token_hash = std::string(result.Text(row, 1));
  session.kind = ToKind(result.Text(row, 2));
  session.user = model::UserId(static_cast<int32_t>(result.Int(row, 3)));
  session.expires_at = result.Maybe(&Result::Time, row, 4);
  session.description = std::string(result.Text(row, 5));
  // A role that this version does not know is treated as the lowest one.
  session.limit = model::ParseRole(result.Text(row, 6)).value_or(model::Role::kViewer);
  session.created_at = result.Time(row, 7);
  session.last_used_at = result.Maybe(&Result::Time, row, 8);
  session.revoked = result.Bool(row, 9);
  return session;
}

const char* GetSortKey(TokenQuery::Sort sort) {
  using Sort = TokenQuery::Sort;
  switch (sort) {
    case Sort::kId:
      return "id";
    case Sort::kUser:
      return "user_id";
    case Sort::kExpiry:
      return "expires_at";
    case Sort::kCreatedAt:
      return "created_at";
    case Sort::kRevoked:
      return "revoked";
    case Sort::kDescription:
      return "description COLLATE \"C\"";
  }
  return "id";
}

}  // namespace

absl::Status SqlAccess::Write(const char* statement, const Params& params) {
  return fence_.Run(
      pool_, [&](Connection& connection) { return connection.Exec(statement, params).status(); });
}

absl::StatusOr<int32_t> SqlAccess::PutSession(const SessionRecord& session) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<int32_t> {
    const std::string limit(ToString(session.limit));
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(kAccessPut,
                        MakeParams(session.token_hash, ToText(session.kind), session.user,
                                   session.expires_at, session.description, limit,
                                   session.created_at, session.last_used_at, session.revoked)));
    return static_cast<int32_t>(result.Int(0, 0));
  });
}

absl::StatusOr<SessionRecord> SqlAccess::GetSession(const std::string& token_hash, absl::Time now) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<SessionRecord> {
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kGet, MakeParams(token_hash, now)));
    if (result.rows() == 0) return NoSuchSession();
    return ToSession(result, 0);
  });
}

absl::Status SqlAccess::DeleteSession(const std::string& token_hash) {
  return Write(kAccessDelete, MakeParams(token_hash));
}

absl::Status SqlAccess::DeleteLogins(model::UserId user, const std::string& keep) {
  return Write(kDeleteLogins, MakeParams(user, keep));
}

absl::Status SqlAccess::DeleteUserSessions(model::UserId user) {
  return Write(kDeleteAll, MakeParams(user));
}

absl::Status SqlAccess::RecordUse(const std::string& token_hash, absl::Time at) {
  return Write(kRecordUse, MakeParams(token_hash, at));
}

absl::StatusOr<TokenPage> SqlAccess::ListTokens(const TokenQuery& query) {
  const Params params = {ToFilter(query.ids), ToParam(query.user), ToParam(query.active_at)};
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<TokenPage> {
    DET_ASSIGN_OR_RETURN(
        const WindowRows window,
        ReadWindow(connection, absl::StrCat("SELECT count(*)", kAccessFrom),
                   absl::StrCat("SELECT " DET_SESSION_COLUMNS, kAccessFrom,
                                OrderBy(GetSortKey(query.sort), "id", query.descending)),
                   params, query.window));
    TokenPage page;
    page.total = window.total;
    for (int row = 0; row < window.rows.rows(); ++row) {
      page.tokens.push_back(ToSession(window.rows, row));
    }
    return page;
  });
}

absl::StatusOr<SessionRecord> SqlAccess::ChangeToken(int32_t id,
                                                     const std::optional<std::string>& description,
                                                     bool revoke) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<SessionRecord> {
    DET_ASSIGN_OR_RETURN(const Result result,
                         connection.Exec(kAccessChange, MakeParams(id, description, revoke)));
    if (result.rows() == 0) return NoSuchToken(id);
    return ToSession(result, 0);
  });
}

absl::StatusOr<std::vector<RoleAssignment>> SqlAccess::Roles(const char* where, int32_t value) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<std::vector<RoleAssignment>> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(
            absl::StrCat("SELECT user_id, workspace, role FROM role_assignments WHERE ", where),
            MakeParams(value)));
    std::vector<RoleAssignment> roles;
    for (int row = 0; row < result.rows(); ++row) {
      const auto role = ParseRoleId(result.Text(row, 2));
      if (!role) continue;  // a role of another version
      roles.push_back({model::UserId(static_cast<int32_t>(result.Int(row, 0))),
                       static_cast<int32_t>(result.Int(row, 1)), *role});
    }
    std::sort(roles.begin(), roles.end());
    return roles;
  });
}

absl::StatusOr<std::vector<RoleAssignment>> SqlAccess::GetUserRoles(model::UserId user) {
  return Roles("user_id = $1", user.value());
}

absl::StatusOr<std::vector<RoleAssignment>> SqlAccess::GetWorkspaceRoles(int32_t workspace) {
  return Roles("workspace = $1", workspace);
}

absl::Status SqlAccess::AddRole(const RoleAssignment& assignment) {
  return Write(
      "INSERT INTO role_assignments (user_id, workspace, role) VALUES ($1, $2, $3) "
      "ON CONFLICT DO NOTHING",
      MakeParams(assignment.user, assignment.workspace, ToText(assignment.role)));
}

absl::Status SqlAccess::RemoveRole(const RoleAssignment& assignment) {
  return Write("DELETE FROM role_assignments WHERE user_id = $1 AND workspace = $2 AND role = $3",
               MakeParams(assignment.user, assignment.workspace, ToText(assignment.role)));
}

}  // namespace det::store
