// det dev config-schema
#include "cli/command.h"
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
  return {
      {{"dev", "config-schema"},
       "print the JSON Schema of experiment configurations, for editors",
       {},
       {},
       RunConfigSchema,
       "Needs no master. In a file that an editor with the YAML language server shows:\n"
       "  # yaml-language-server: $schema=./config-schema.json"},
  };
}

}  // namespace det::cli
