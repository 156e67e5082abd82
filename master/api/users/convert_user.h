// Users, access tokens and roles as messages of the API. Part of convert.h's work.
//
// Any thread. Does no I/O.
#ifndef MASTER_API_USERS_CONVERT_USER_H_
#define MASTER_API_USERS_CONVERT_USER_H_

#include "det/api/v1/auth.pb.h"
#include "det/api/v1/token.pb.h"
#include "det/api/v1/user.pb.h"
#include "master/store/interfaces/access.h"
#include "master/store/interfaces/people.h"

namespace det::api {

v1::User ToProto(const store::UserRecord& user);
v1::UserWebSetting ToProto(const store::UserSetting& setting);
v1::TokenInfo ToProto(const store::SessionRecord& token);

v1::AgentUserGroup ToProto(const store::AgentUser& user);
store::AgentUser FromProto(const v1::AgentUserGroup& group);
store::UserSetting FromProto(const v1::UserWebSetting& setting);
// NOT_FOUND for a role that there is not.
absl::StatusOr<store::UserQuery> FromProto(const v1::GetUsersRequest& request);

}  // namespace det::api

#endif  // MASTER_API_USERS_CONVERT_USER_H_
