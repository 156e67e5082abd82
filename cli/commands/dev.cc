// det dev config-schema (dev_api.cc: curl, api)
#include "cli/commands/dev.h"

#include <memory>

#include "base/status_macros.h"
#include "cli/config_schema.h"
#include "cli/json_text.h"
#include "cli/sign_in.h"

namespace det::cli {
namespace {

absl::StatusOr<int> RunConfigSchema(Invocation& run) {
  run.screen->Print(Indented(kConfigSchema) + "\n");
  return kExitOk;
}

absl::StatusOr<int> RunAuthToken(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const Connection connection, run.Where());
  const std::shared_ptr<Credential> credential = CredentialOf(connection);
  if (credential == nullptr || credential->token().empty()) {
    return absl::UnauthenticatedError("nobody is signed in; `det user login` first");
  }
  run.screen->Print(credential->token() + "\n");
  return kExitOk;
}

}  // namespace

std::vector<Command> DevCommands() {
  std::vector<Command> commands = DevApiCommands();
  commands.push_back({{"dev", "auth-token"},
                      "print the token that det sends, for `curl -H 'Authorization: Bearer ...'`",
                      {},
                      {},
                      RunAuthToken,
                      "Whoever has it acts as you, until `det user logout`."});
  commands.push_back(
      {{"dev", "config-schema"},
       "print the JSON Schema of experiment configurations, for editors",
       {},
       {},
       RunConfigSchema,
       "Needs no master. In a file that an editor with the YAML language server shows:\n"
       "  # yaml-language-server: $schema=./config-schema.json"});
  return commands;
}

}  // namespace det::cli
