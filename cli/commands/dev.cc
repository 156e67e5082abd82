// det dev config-schema (dev_api.cc: curl, api)
#include "cli/commands/dev.h"

#include "cli/config_schema.h"
#include "cli/json_text.h"

namespace det::cli {
namespace {

absl::StatusOr<int> RunConfigSchema(Invocation& run) {
  run.screen->Print(Indented(kConfigSchema) + "\n");
  return kExitOk;
}

}  // namespace

std::vector<Command> DevCommands() {
  std::vector<Command> commands = DevApiCommands();
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
