// det dev config-schema (dev_api.cc: curl, api)
#include "cli/commands/dev.h"

#include <memory>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "cli/config_schema.h"
#include "cli/json_text.h"
#include "cli/sign_in.h"

namespace det::cli {
namespace {

absl::StatusOr<int> RunConfigSchema(Invocation& run) {
  run.screen->Print(IndentJson(kConfigSchema) + "\n");
  return kExitOk;
}

absl::StatusOr<int> RunAuthToken(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const Connection connection, run.FindConnection());
  const std::shared_ptr<Credential> credential = MakeCredential(connection);
  if (credential == nullptr || credential->token().empty()) {
    return absl::UnauthenticatedError("not signed in; run `det user login` first");
  }
  run.screen->Print(credential->token() + "\n");
  return kExitOk;
}

}  // namespace

std::vector<Command> DevCommands() {
  std::vector<Command> commands = DevApiCommands();
  commands.push_back({{"dev", "auth-token"},
                      "Print the token that det sends as `Authorization: Bearer TOKEN`",
                      {},
                      {},
                      RunAuthToken,
                      "With the token, any program can act as you until `det user logout`."});
  commands.push_back(
      {{"dev", "config-schema"},
       "Print the JSON Schema of experiment configs, for editors",
       {},
       {},
       RunConfigSchema,
       "No master is needed. To use the schema in an editor with the YAML language server, add to "
       "a config file:\n  # yaml-language-server: $schema=./config-schema.json"});
  return commands;
}

}  // namespace det::cli
