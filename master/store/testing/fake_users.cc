#include "master/store/testing/fake_users.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/testing/fake_sort.h"

namespace det::store {
namespace {

bool HasRole(const UserRecord& user, const std::vector<model::RoleId>& roles,
             const std::set<RoleAssignment>& assigned) {
  const auto is_asked = [&](model::RoleId role) {
    return std::find(roles.begin(), roles.end(), role) != roles.end();
  };
  return (user.admin && is_asked(model::Role::kClusterAdmin)) ||
         std::any_of(assigned.begin(), assigned.end(), [&](const RoleAssignment& each) {
           return each.user == user.id && is_asked(each.role);
         });
}

bool Matches(const UserRecord& user, const UserQuery& query) {
  const auto contains = [&](const std::string& text) {
    return absl::StrContains(absl::AsciiStrToLower(text), absl::AsciiStrToLower(query.name));
  };
  return (contains(user.username) || contains(user.display_name)) &&
         (!query.active || user.active == *query.active) &&
         (!query.admin || user.admin == *query.admin);
}

void Sort(std::vector<UserRecord>& items, const UserQuery& query) {
  const auto by = [&](const auto& key) {
    SortBy(items, query.descending, key, [](const UserRecord& r) { return r.id; });
  };
  using Sort = UserQuery::Sort;
  switch (query.sort) {
    case Sort::kId:
      return by([](const UserRecord& r) { return std::optional(r.id); });
    case Sort::kUsername:
      return by([](const UserRecord& r) { return std::optional(r.username); });
    case Sort::kDisplayName:
      return by([](const UserRecord& r) { return std::optional(r.display_name); });
    case Sort::kAdmin:
      return by([](const UserRecord& r) { return std::optional(r.admin); });
    case Sort::kActive:
      return by([](const UserRecord& r) { return std::optional(r.active); });
    case Sort::kModifiedAt:
      return by([](const UserRecord& r) { return std::optional(r.modified_at); });
    case Sort::kLastAuthAt:
      return by([](const UserRecord& r) { return r.last_auth_at; });
    case Sort::kRemote:
      return by([](const UserRecord& r) { return std::optional(r.remote); });
  }
}

template <class T>
void Set(const std::optional<T>& from, T& to) {
  if (from) to = *from;
}

}  // namespace

bool FakeUsers::IsTaken(const std::string& name, model::UserId id) const {
  return std::any_of(rows_.users.begin(), rows_.users.end(), [&](const auto& item) {
    return item.first != id && absl::EqualsIgnoreCase(item.second.username, name);
  });
}

absl::StatusOr<UserRecord> FakeUsers::GetUser(model::UserId id) {
  std::lock_guard lock(mutex_);
  const auto it = rows_.users.find(id);
  if (it == rows_.users.end()) return NoSuchUser(id);
  return it->second;
}

absl::StatusOr<UserRecord> FakeUsers::GetUserByName(const std::string& username) {
  std::lock_guard lock(mutex_);
  for (const auto& [id, user] : rows_.users) {
    if (absl::EqualsIgnoreCase(user.username, username)) return user;
  }
  return NoSuchUser(username);
}

absl::StatusOr<UserPage> FakeUsers::ListUsers(const UserQuery& query) {
  std::lock_guard lock(mutex_);
  std::vector<UserRecord> all;
  for (const auto& [id, user] : rows_.users) {
    if (!Matches(user, query)) continue;
    if (query.roles.empty() || HasRole(user, query.roles, access_.roles)) all.push_back(user);
  }
  Sort(all, query);
  const int total = static_cast<int>(all.size());
  const Range range = Resolve(query.window, total);
  return UserPage{{all.begin() + range.begin, all.begin() + range.end}, total};
}

absl::StatusOr<UserRecord> FakeUsers::AddUser(const UserRecord& user, model::Role role) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(mutex_);
  if (IsTaken(user.username, model::UserId())) return UserExists(user.username);
  // Users are never removed.
  const model::UserId id(static_cast<int32_t>(rows_.users.size()) + 1);
  UserRecord& added = rows_.users[id];
  added = user;
  added.id = id;
  added.modified_at = Canonical(user.modified_at);
  if (role != model::Role::kNone) access_.roles.insert({id, kUncategorized, role});
  return added;
}

absl::StatusOr<UserRecord> FakeUsers::ChangeUser(model::UserId id, const UserPatch& patch,
                                                 absl::Time now) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(mutex_);
  const auto it = rows_.users.find(id);
  if (it == rows_.users.end()) return NoSuchUser(id);
  if (patch.username && IsTaken(*patch.username, id)) return UserExists(*patch.username);
  UserRecord user = it->second;
  Set(patch.username, user.username);
  Set(patch.password_hash, user.password_hash);
  Set(patch.admin, user.admin);
  Set(patch.active, user.active);
  Set(patch.display_name, user.display_name);
  Set(patch.remote, user.remote);
  if (patch.agent_user) user.agent_user = patch.agent_user;
  user.modified_at = Canonical(now);
  const auto leads = [](const UserRecord& each) { return each.admin && each.active; };
  if (leads(it->second) && !leads(user)) {
    const auto leaders = std::count_if(rows_.users.begin(), rows_.users.end(),
                                       [&](const auto& item) { return leads(item.second); });
    if (leaders == 1) return LastAdministrator();
  }
  it->second = user;
  return user;
}

absl::Status FakeUsers::RecordLogin(model::UserId id, absl::Time at) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(mutex_);
  const auto it = rows_.users.find(id);
  if (it != rows_.users.end()) it->second.last_auth_at = Canonical(at);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<UserSetting>> FakeUsers::ListSettings(model::UserId id) {
  std::lock_guard lock(mutex_);
  std::vector<UserSetting> settings;
  for (const auto& [key, value] : rows_.settings) {
    if (std::get<0>(key) == id) settings.push_back({std::get<1>(key), std::get<2>(key), value});
  }
  return settings;
}

absl::Status FakeUsers::PutSettings(model::UserId id, const std::vector<UserSetting>& settings) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(mutex_);
  for (const UserSetting& setting : settings) {
    const std::tuple key(id, setting.storage_path, setting.key);
    if (setting.value.empty()) {
      rows_.settings.erase(key);
    } else {
      rows_.settings[key] = setting.value;
    }
  }
  return absl::OkStatus();
}

absl::Status FakeUsers::DropSettings(model::UserId id) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(mutex_);
  std::erase_if(rows_.settings, [&](const auto& item) { return std::get<0>(item.first) == id; });
  return absl::OkStatus();
}

}  // namespace det::store
