// What `det user` and `det token` share.
#ifndef CLI_COMMANDS_USER_H_
#define CLI_COMMANDS_USER_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/api_client.h"
#include "det/api/v1/auth.pb.h"

namespace det::cli {

// NOT_FOUND for a name that nobody has.
absl::StatusOr<api::v1::User> FindUser(const ApiClient& api, const std::string& name);

}  // namespace det::cli

#endif  // CLI_COMMANDS_USER_H_
