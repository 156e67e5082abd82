// Shared by `det user` and other commands.
#ifndef CLI_COMMANDS_USER_H_
#define CLI_COMMANDS_USER_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/api_client.h"
#include "det/api/v1/auth.pb.h"

namespace det::cli {

// Returns NOT_FOUND for an unknown name.
absl::StatusOr<api::v1::User> FindUser(const ApiClient& api, const std::string& name);

}  // namespace det::cli

#endif  // CLI_COMMANDS_USER_H_
