// Roles and their assignments as messages of the API. Part of convert.h's work.
//
// Any thread. Does no I/O.
#ifndef MASTER_API_USERS_CONVERT_ROLE_H_
#define MASTER_API_USERS_CONVERT_ROLE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "det/api/v1/role.pb.h"
#include "master/core/model/role.h"
#include "master/store/interfaces/access.h"

namespace det::api {

// The greatest first.
const std::vector<model::Role>& AllRoles();

// With its permissions.
v1::Role ToProto(model::Role role);

// By its id or, without one, by its name. INVALID_ARGUMENT for neither, NOT_FOUND for one that no
// role has.
absl::StatusOr<model::Role> FromProto(const v1::Role& role);

// Each role that occurs, with its assignments.
void AddByRole(const std::vector<store::RoleAssignment>& assignments,
               google::protobuf::RepeatedPtrField<v1::RoleWithAssignments>* out);

}  // namespace det::api

#endif  // MASTER_API_USERS_CONVERT_ROLE_H_
