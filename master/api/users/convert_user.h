// Converts users, access tokens, roles and role assignments to messages of the API and back.
//
// Any thread. Does no I/O.
#ifndef MASTER_API_USERS_CONVERT_USER_H_
#define MASTER_API_USERS_CONVERT_USER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "det/api/v1/auth.pb.h"
#include "det/api/v1/role.pb.h"
#include "det/api/v1/token.pb.h"
#include "det/api/v1/user.pb.h"
#include "master/core/model/role.h"
#include "master/store/interfaces/access.h"
#include "master/store/interfaces/users.h"

namespace det::api {

v1::User ToProto(const store::UserRecord& user);
v1::UserWebSetting ToProto(const store::UserSetting& setting);
v1::TokenInfo ToProto(const store::SessionRecord& token);

v1::AgentUserGroup ToProto(const store::AgentUser& user);
store::AgentUser FromProto(const v1::AgentUserGroup& group);
store::UserSetting FromProto(const v1::UserWebSetting& setting);
// Returns NOT_FOUND if the request names an unknown role.
absl::StatusOr<store::UserQuery> FromProto(const v1::GetUsersRequest& request);

// All roles, the most powerful first.
const std::vector<model::Role>& AllRoles();
// Sets the role and its permissions.
v1::Role ToProto(model::Role role);
// Finds a role by its ID or, if there is none, by its name. Returns INVALID_ARGUMENT if neither is
// set, and NOT_FOUND if there is no such role.
absl::StatusOr<model::Role> FromProto(const v1::Role& role);
// Groups the assignments by role.
void AddByRole(const std::vector<store::RoleAssignment>& assignments,
               google::protobuf::RepeatedPtrField<v1::RoleWithAssignments>* out);

}  // namespace det::api

#endif  // MASTER_API_USERS_CONVERT_USER_H_
