// Roles and their assignments as messages of the API. Part of convert.h's work.
//
// Any thread. Does no I/O.
#ifndef MASTER_SERVICE_CONVERT_ROLE_H_
#define MASTER_SERVICE_CONVERT_ROLE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "det/api/v1/role.pb.h"
#include "master/model/role.h"
#include "master/store/access.h"

namespace det::service {

// The greatest first.
const std::vector<model::Role>& AllRoles();

// With its permissions.
det::api::v1::Role ToProto(model::Role role);

// By its id or, without one, by its name. INVALID_ARGUMENT for neither, NOT_FOUND for one that no
// role has.
absl::StatusOr<model::Role> FromProto(const det::api::v1::Role& role);

// Each role that occurs, with its assignments.
void AddByRole(const std::vector<store::RoleAssignment>& assignments,
               google::protobuf::RepeatedPtrField<det::api::v1::RoleWithAssignments>* out);

}  // namespace det::service

#endif  // MASTER_SERVICE_CONVERT_ROLE_H_
