// Converts users and access tokens to messages of the API and back.
//
// Any thread. Does no I/O.
#ifndef MASTER_API_USERS_CONVERT_USER_H_
#define MASTER_API_USERS_CONVERT_USER_H_

#include "absl/status/statusor.h"
#include "det/api/v1/auth.pb.h"
#include "det/api/v1/token.pb.h"
#include "det/api/v1/user.pb.h"
#include "master/store/interfaces/access.h"
#include "master/store/interfaces/users.h"

namespace det::api {

v1::User ToProto(const store::UserRecord& user);
v1::UserWebSetting ToProto(const store::UserSetting& setting);
v1::TokenInfo ToProto(const store::SessionRecord& token);

v1::AgentUserGroup ToProto(const store::AgentUser& user);
store::AgentUser FromProto(const v1::AgentUserGroup& group);
store::UserSetting FromProto(const v1::UserWebSetting& setting);
// Returns NOT_FOUND if the request names a number that is not that of a role.
absl::StatusOr<store::UserQuery> FromProto(const v1::GetUsersRequest& request);

}  // namespace det::api

#endif  // MASTER_API_USERS_CONVERT_USER_H_
