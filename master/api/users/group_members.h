// Groups as the API shows them, with their members.
//
// Any thread; blocks.
#ifndef MASTER_API_USERS_GROUP_MEMBERS_H_
#define MASTER_API_USERS_GROUP_MEMBERS_H_

#include "absl/status/statusor.h"
#include "det/api/v1/group.pb.h"
#include "master/auth/permissions.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// Reads the members of the group.
absl::StatusOr<v1::GroupDetails> ToDetails(store::Store& store, const store::GroupRecord& group);

// Whether the caller may see all groups: users that assign roles or change groups, and in the mode
// without roles every user. Others see the groups of which they are members.
bool SeesAllGroups(const auth::Principal& caller);
bool SeesGroup(const auth::Principal& caller, const store::GroupRecord& group);

}  // namespace det::api

#endif  // MASTER_API_USERS_GROUP_MEMBERS_H_
