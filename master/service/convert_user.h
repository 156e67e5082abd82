// Users, access tokens and roles as messages of the API. Part of convert.h's work.
//
// Any thread. Does no I/O.
#ifndef MASTER_SERVICE_CONVERT_USER_H_
#define MASTER_SERVICE_CONVERT_USER_H_

#include "det/api/v1/auth.pb.h"
#include "det/api/v1/token.pb.h"
#include "det/api/v1/user.pb.h"
#include "master/store/access.h"
#include "master/store/people.h"

namespace det::service {

det::api::v1::User ToProto(const store::UserRecord& user);
det::api::v1::UserWebSetting ToProto(const store::UserSetting& setting);
det::api::v1::TokenInfo ToProto(const store::SessionRecord& token);

det::api::v1::AgentUserGroup ToProto(const store::AgentUser& user);
store::AgentUser FromProto(const det::api::v1::AgentUserGroup& group);
store::UserSetting FromProto(const det::api::v1::UserWebSetting& setting);
// NOT_FOUND for a role that there is not.
absl::StatusOr<store::UserQuery> FromProto(const det::api::v1::GetUsersRequest& request);

}  // namespace det::service

#endif  // MASTER_SERVICE_CONVERT_USER_H_
