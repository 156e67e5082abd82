// Shared by `det user-group` and `det rbac`.
#ifndef CLI_COMMANDS_USER_GROUP_H_
#define CLI_COMMANDS_USER_GROUP_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/api_client.h"
#include "det/api/v1/group.pb.h"

namespace det::cli {

// Returns NOT_FOUND for an unknown name.
absl::StatusOr<api::v1::Group> FindGroup(const ApiClient& api, const std::string& name);

}  // namespace det::cli

#endif  // CLI_COMMANDS_USER_GROUP_H_
