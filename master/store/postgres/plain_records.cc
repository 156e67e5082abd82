// SqlStore: users, sessions, contexts, properties.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/store/canonical.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/sql_store.h"

namespace det::store {
namespace {

constexpr char kUserByName[] =
    "SELECT id, username, password_hash, admin, active, display_name FROM users "
    "WHERE username = $1";
constexpr char kUserById[] =
    "SELECT id, username, password_hash, admin, active, display_name FROM users WHERE id = $1";
constexpr char kPutUser[] = R"sql(
INSERT INTO users (username, password_hash, admin, active, display_name)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (username) DO UPDATE SET password_hash = excluded.password_hash,
  admin = excluded.admin, active = excluded.active, display_name = excluded.display_name
RETURNING id, username, password_hash, admin, active, display_name)sql";
constexpr char kPutSession[] = R"sql(
INSERT INTO sessions (token_hash, kind, user_id, expires_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (token_hash) DO UPDATE SET kind = excluded.kind, user_id = excluded.user_id,
  expires_at = excluded.expires_at)sql";
constexpr char kGetSession[] =
    "SELECT token_hash, kind, user_id, micros(expires_at) FROM sessions "
    "WHERE token_hash = $1 AND (expires_at IS NULL OR expires_at > $2)";
// The row that was there first stays, and is returned in either case.
constexpr char kProperty[] = R"sql(
INSERT INTO properties (key, value) VALUES ($1, $2)
ON CONFLICT (key) DO UPDATE SET value = properties.value RETURNING value)sql";

constexpr char kUserSession[] = "user";
constexpr char kAgentSession[] = "agent";

UserRecord ToUser(const Result& result) {
  UserRecord user;
  user.id = model::UserId(static_cast<int32_t>(result.Int(0, 0)));
  user.username = std::string(result.Text(0, 1));
  user.password_hash = std::string(result.Text(0, 2));
  user.admin = result.Bool(0, 3);
  user.active = result.Bool(0, 4);
  user.display_name = std::string(result.Text(0, 5));
  return user;
}

}  // namespace

absl::Status SqlStore::PutContext(const std::string& hash, const std::string& tgz) {
  return fence_.Run(readers_, [&](Connection& connection) {
    return connection
        .Exec("INSERT INTO contexts (hash, tgz) VALUES ($1, $2) ON CONFLICT DO NOTHING",
              {ToParam(hash), Binary(tgz)})
        .status();
  });
}

absl::StatusOr<std::string> SqlStore::GetContext(const std::string& hash) {
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<std::string> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.ExecBinary("SELECT tgz FROM contexts WHERE hash = $1", MakeParams(hash)));
    if (result.rows() > 0) return std::string(result.Text(0, 0));
    return absl::NotFoundError(absl::StrCat("context ", CleanText(hash), " does not exist"));
  });
}

absl::StatusOr<UserRecord> SqlStore::GetUserByName(const std::string& username) {
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<UserRecord> {
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kUserByName, MakeParams(username)));
    if (result.rows() > 0) return ToUser(result);
    return absl::NotFoundError(absl::StrCat("user ", username, " does not exist"));
  });
}

absl::StatusOr<UserRecord> SqlStore::GetUser(model::UserId id) {
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<UserRecord> {
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kUserById, MakeParams(id)));
    if (result.rows() > 0) return ToUser(result);
    return absl::NotFoundError(absl::StrCat("user ", ToString(id), " does not exist"));
  });
}

absl::StatusOr<UserRecord> SqlStore::PutUser(const UserRecord& user) {
  return fence_.Run(readers_, [&](Connection& connection) -> absl::StatusOr<UserRecord> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(kPutUser, MakeParams(user.username, user.password_hash, user.admin,
                                             user.active, user.display_name)));
    return ToUser(result);
  });
}

absl::Status SqlStore::PutSession(const SessionRecord& session) {
  const bool agent = session.kind == SessionRecord::Kind::kAgent;
  return fence_.Run(readers_, [&](Connection& connection) {
    return connection
        .Exec(kPutSession, MakeParams(session.token_hash, agent ? kAgentSession : kUserSession,
                                      session.user, session.expires_at))
        .status();
  });
}

absl::StatusOr<SessionRecord> SqlStore::GetSession(const std::string& token_hash, absl::Time now) {
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<SessionRecord> {
    DET_ASSIGN_OR_RETURN(const Result result,
                         connection.Exec(kGetSession, MakeParams(token_hash, now)));
    if (result.rows() == 0) {
      return absl::NotFoundError("no session has this token; log in again");
    }
    SessionRecord session;
    session.token_hash = std::string(result.Text(0, 0));
    session.kind = result.Text(0, 1) == kAgentSession ? SessionRecord::Kind::kAgent
                                                      : SessionRecord::Kind::kUser;
    session.user = model::UserId(static_cast<int32_t>(result.Int(0, 2)));
    session.expires_at = result.Maybe(&Result::Time, 0, 3);
    return session;
  });
}

absl::Status SqlStore::DeleteSession(const std::string& token_hash) {
  return fence_.Run(readers_, [&](Connection& connection) {
    return connection.Exec("DELETE FROM sessions WHERE token_hash = $1", MakeParams(token_hash))
        .status();
  });
}

absl::StatusOr<std::string> SqlStore::GetOrSetProperty(const std::string& key,
                                                       const std::string& value_if_absent) {
  return fence_.Run(readers_, [&](Connection& connection) -> absl::StatusOr<std::string> {
    DET_ASSIGN_OR_RETURN(const Result result,
                         connection.Exec(kProperty, MakeParams(key, value_if_absent)));
    return std::string(result.Text(0, 0));
  });
}

}  // namespace det::store
