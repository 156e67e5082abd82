#include "master/api/users/convert_user.h"

#include <string>

#include "base/status_macros.h"
#include "master/api/common/convert.h"
#include "master/core/model/permission.h"
#include "master/store/interfaces/groups.h"

namespace det::api {
namespace {

using UserSort = store::UserQuery::Sort;

UserSort UserSortFromProto(v1::GetUsersRequest::SortBy sort) {
  switch (sort) {
    case v1::GetUsersRequest::SORT_BY_USER_NAME:
      return UserSort::kUsername;
    case v1::GetUsersRequest::SORT_BY_DISPLAY_NAME:
    case v1::GetUsersRequest::SORT_BY_NAME:
      return UserSort::kDisplayName;
    case v1::GetUsersRequest::SORT_BY_ADMIN:
      return UserSort::kAdmin;
    case v1::GetUsersRequest::SORT_BY_ACTIVE:
      return UserSort::kActive;
    case v1::GetUsersRequest::SORT_BY_MODIFIED_TIME:
      return UserSort::kModifiedAt;
    case v1::GetUsersRequest::SORT_BY_LAST_AUTH_TIME:
      return UserSort::kLastAuthAt;
    case v1::GetUsersRequest::SORT_BY_REMOTE:
      return UserSort::kRemote;
    default:
      return UserSort::kId;
  }
}

}  // namespace

v1::AgentUserGroup ToProto(const store::AgentUser& user) {
  v1::AgentUserGroup group;
  group.set_agent_uid(user.uid);
  group.set_agent_gid(user.gid);
  group.set_agent_user(user.user);
  group.set_agent_group(user.group);
  return group;
}

v1::User ToProto(const store::UserRecord& user) {
  v1::User out;
  out.set_id(user.id.value());
  out.set_username(user.username);
  out.set_admin(user.admin);
  out.set_active(user.active);
  out.set_display_name(user.display_name);
  out.set_remote(user.remote);
  *out.mutable_modified_at() = ToProto(user.modified_at);
  if (user.last_auth_at) *out.mutable_last_auth_at() = ToProto(*user.last_auth_at);
  if (user.agent_user) *out.mutable_agent_user_group() = ToProto(*user.agent_user);
  return out;
}

v1::UserWebSetting ToProto(const store::UserSetting& setting) {
  v1::UserWebSetting out;
  out.set_storage_path(setting.storage_path);
  out.set_key(setting.key);
  out.set_value(setting.value);
  return out;
}

v1::TokenInfo ToProto(const store::SessionRecord& token) {
  v1::TokenInfo out;
  out.set_id(token.id);
  out.set_user_id(token.user.value());
  if (token.expires_at) *out.mutable_expiry() = ToProto(*token.expires_at);
  *out.mutable_created_at() = ToProto(token.created_at);
  out.set_token_type(token.kind == store::SessionRecord::Kind::kAccess
                         ? v1::TOKEN_TYPE_ACCESS_TOKEN
                         : v1::TOKEN_TYPE_USER_SESSION);
  out.set_revoked(token.revoked);
  out.set_description(token.description);
  out.set_role(std::string(ToString(token.limit)));
  if (token.last_used_at) *out.mutable_last_used_at() = ToProto(*token.last_used_at);
  return out;
}

store::AgentUser FromProto(const v1::AgentUserGroup& group) {
  return {.uid = group.agent_uid(),
          .gid = group.agent_gid(),
          .user = group.agent_user(),
          .group = group.agent_group()};
}

store::UserSetting FromProto(const v1::UserWebSetting& setting) {
  return {.storage_path = setting.storage_path(), .key = setting.key(), .value = setting.value()};
}

absl::StatusOr<store::UserQuery> FromProto(const v1::GetUsersRequest& request) {
  store::UserQuery query;
  query.window = ToWindow(request.offset(), request.limit());
  query.sort = UserSortFromProto(request.sort_by());
  query.descending = request.order_by() == v1::ORDER_BY_DESC;
  query.name = request.name();
  if (request.has_active()) query.active = request.active();
  if (request.has_admin()) query.admin = request.admin();
  for (const int32_t id : request.role_id_assigned_directly_to_user()) {
    const model::RoleId role(id);
    if (!role.is_created() && model::GetPermissions(role).empty()) return store::NoSuchRole(role);
    query.roles.push_back(role);
  }
  return query;
}

}  // namespace det::api
