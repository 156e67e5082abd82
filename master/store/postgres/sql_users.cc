#include "master/store/postgres/sql_users.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/store/interfaces/groups.h"
#include "master/store/postgres/agent_user_rows.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/query.h"

namespace det::store {
namespace {

#define DET_USER_COLUMNS                                                           \
  "id, username, password_hash, admin, active, display_name, remote, agent_user, " \
  "micros(modified_at), micros(last_auth_at)"

constexpr char kById[] = "SELECT " DET_USER_COLUMNS " FROM users WHERE id = $1";
// Only the case of ASCII letters is ignored, as in the index.
constexpr char kByName[] =
    "SELECT " DET_USER_COLUMNS " FROM users WHERE lower(username) = lower($1::text COLLATE \"C\")";
constexpr char kUsersFrom[] = R"sql( FROM users
WHERE (strpos(lower(username), lower($1::text COLLATE "C")) > 0 OR
       strpos(lower(display_name COLLATE "C"), lower($1::text COLLATE "C")) > 0)
  AND ($2::boolean IS NULL OR active = $2::boolean)
  AND ($3::boolean IS NULL OR admin = $3::boolean)
  AND ($4::text[] IS NULL OR (admin AND 'ClusterAdmin' = ANY($4)) OR EXISTS (
    SELECT FROM role_assignments r WHERE r.user_id = users.id AND r.role = ANY($4))))sql";
constexpr char kUserAdd[] =
    "INSERT INTO users (username, password_hash, admin, active, display_name, remote, agent_user, "
    "modified_at, last_auth_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) "
    "ON CONFLICT DO NOTHING RETURNING " DET_USER_COLUMNS;
constexpr char kAddRole[] =
    "INSERT INTO role_assignments (user_id, workspace, role) VALUES ($1, $2, $3)";
// Serializes concurrent removals of administrators.
constexpr char kHoldAdministrators[] =
    "SELECT id FROM users WHERE admin AND active ORDER BY id FOR UPDATE";
constexpr char kNameTaken[] =
    "SELECT 1 FROM users WHERE lower(username) = lower($2::text COLLATE \"C\") AND id <> $1";
constexpr char kUserChange[] = R"sql(
UPDATE users SET username = coalesce($2::text, username),
  password_hash = coalesce($3::text, password_hash), admin = coalesce($4::boolean, admin),
  active = coalesce($5::boolean, active), display_name = coalesce($6::text, display_name),
  remote = coalesce($7::boolean, remote), agent_user = coalesce($8::json, agent_user),
  modified_at = $9
WHERE id = $1 RETURNING )sql" DET_USER_COLUMNS;
constexpr char kRecordLogin[] = "UPDATE users SET last_auth_at = $2 WHERE id = $1";

constexpr char kSettings[] =
    "SELECT storage_path, key, value FROM user_settings WHERE user_id = $1 "
    "ORDER BY storage_path, key";
constexpr char kPutSetting[] =
    "INSERT INTO user_settings (user_id, storage_path, key, value) VALUES ($1, $2, $3, $4) "
    "ON CONFLICT (user_id, storage_path, key) DO UPDATE SET value = excluded.value";
constexpr char kDropSetting[] =
    "DELETE FROM user_settings WHERE user_id = $1 AND storage_path = $2 AND key = $3";

absl::StatusOr<UserRecord> ToUser(const Result& result, int row) {
  UserRecord user;
  user.id = model::UserId(static_cast<int32_t>(result.Int(row, 0)));
  user.username = std::string(result.Text(row, 1));
  user.password_hash = std::string(result.Text(row, 2));
  user.admin = result.Bool(row, 3);
  user.active = result.Bool(row, 4);
  user.display_name = std::string(result.Text(row, 5));
  user.remote = result.Bool(row, 6);
  DET_ASSIGN_OR_RETURN(user.agent_user, ToAgentUser(result, row, 7));
  user.modified_at = result.Time(row, 8);
  user.last_auth_at = result.Maybe(&Result::Time, row, 9);
  return user;
}

const char* GetSortKey(UserQuery::Sort sort) {
  using Sort = UserQuery::Sort;
  switch (sort) {
    case Sort::kId:
      return "id";
    case Sort::kUsername:
      return "username";
    case Sort::kDisplayName:
      return "display_name COLLATE \"C\"";
    case Sort::kAdmin:
      return "admin";
    case Sort::kActive:
      return "active";
    case Sort::kModifiedAt:
      return "modified_at";
    case Sort::kLastAuthAt:
      return "last_auth_at";
    case Sort::kRemote:
      return "remote";
  }
  return "id";
}

// Whether `id` is the only active administrator; locks the administrators until the transaction
// ends.
absl::StatusOr<bool> IsLastAdministrator(Connection& connection, model::UserId id) {
  DET_ASSIGN_OR_RETURN(const Result leaders, connection.Exec(kHoldAdministrators));
  return leaders.rows() == 1 && leaders.Int(0, 0) == id.value();
}

}  // namespace

absl::StatusOr<UserRecord> SqlUsers::GetUser(model::UserId id) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<UserRecord> {
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kById, MakeParams(id)));
    if (result.rows() == 0) return NoSuchUser(id);
    return ToUser(result, 0);
  });
}

absl::StatusOr<UserRecord> SqlUsers::GetUserByName(const std::string& username) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<UserRecord> {
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kByName, MakeParams(username)));
    if (result.rows() == 0) return NoSuchUser(username);
    return ToUser(result, 0);
  });
}

absl::StatusOr<UserPage> SqlUsers::ListUsers(const UserQuery& query) {
  std::vector<std::string> roles;
  for (const model::RoleId role : query.roles) roles.push_back(ToText(role));
  const Params params = {ToParam(query.name), ToParam(query.active), ToParam(query.admin),
                         ToFilter(roles)};
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<UserPage> {
    DET_ASSIGN_OR_RETURN(
        const WindowRows window,
        ReadWindow(connection, absl::StrCat("SELECT count(*)", kUsersFrom),
                   absl::StrCat("SELECT " DET_USER_COLUMNS, kUsersFrom,
                                OrderBy(GetSortKey(query.sort), "id", query.descending)),
                   params, query.window));
    UserPage page;
    page.total = window.total;
    for (int row = 0; row < window.rows.rows(); ++row) {
      DET_ASSIGN_OR_RETURN(UserRecord user, ToUser(window.rows, row));
      page.users.push_back(std::move(user));
    }
    return page;
  });
}

absl::StatusOr<UserRecord> SqlUsers::AddUser(const UserRecord& user, model::Role role) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<UserRecord> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(
            kUserAdd, MakeParams(user.username, user.password_hash, user.admin, user.active,
                                 user.display_name, user.remote, user.agent_user, user.modified_at,
                                 user.last_auth_at)));
    if (result.rows() == 0) return UserExists(user.username);
    DET_ASSIGN_OR_RETURN(UserRecord added, ToUser(result, 0));
    if (role != model::Role::kNone) {
      DET_RETURN_IF_ERROR(
          connection
              .Exec(kAddRole, MakeParams(added.id, kUncategorized, std::string(ToString(role))))
              .status());
    }
    return added;
  });
}

absl::StatusOr<UserRecord> SqlUsers::ChangeUser(model::UserId id, const UserPatch& patch,
                                                absl::Time now) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<UserRecord> {
    if (patch.username) {
      DET_ASSIGN_OR_RETURN(const Result taken,
                           connection.Exec(kNameTaken, MakeParams(id, *patch.username)));
      if (taken.rows() > 0) return UserExists(*patch.username);
    }
    if (!patch.admin.value_or(true) || !patch.active.value_or(true)) {
      DET_ASSIGN_OR_RETURN(const bool alone, IsLastAdministrator(connection, id));
      if (alone) return LastAdministrator();
    }
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(kUserChange, MakeParams(id, patch.username, patch.password_hash,
                                                patch.admin, patch.active, patch.display_name,
                                                patch.remote, patch.agent_user, now)));
    if (result.rows() == 0) return NoSuchUser(id);
    return ToUser(result, 0);
  });
}

absl::Status SqlUsers::RecordLogin(model::UserId id, absl::Time at) {
  return fence_.Run(pool_, [&](Connection& connection) {
    return connection.Exec(kRecordLogin, MakeParams(id, at)).status();
  });
}

absl::StatusOr<std::vector<UserSetting>> SqlUsers::ListSettings(model::UserId id) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<std::vector<UserSetting>> {
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kSettings, MakeParams(id)));
    std::vector<UserSetting> settings;
    for (int row = 0; row < result.rows(); ++row) {
      settings.push_back({std::string(result.Text(row, 0)), std::string(result.Text(row, 1)),
                          std::string(result.Text(row, 2))});
    }
    return settings;
  });
}

absl::Status SqlUsers::PutSettings(model::UserId id, const std::vector<UserSetting>& settings) {
  std::vector<Connection::Statement> statements;
  for (const UserSetting& each : settings) {
    if (each.value.empty()) {
      statements.push_back({kDropSetting, MakeParams(id, each.storage_path, each.key)});
    } else {
      statements.push_back({kPutSetting, MakeParams(id, each.storage_path, each.key, each.value)});
    }
  }
  return fence_.Write(pool_, statements);
}

absl::Status SqlUsers::DropSettings(model::UserId id) {
  return fence_.Run(pool_, [&](Connection& connection) {
    return connection.Exec("DELETE FROM user_settings WHERE user_id = $1", MakeParams(id)).status();
  });
}

}  // namespace det::store
