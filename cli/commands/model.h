// Shared by the commands of models and of their versions.
#ifndef CLI_COMMANDS_MODEL_H_
#define CLI_COMMANDS_MODEL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "det/api/v1/model.pb.h"
#include "proto/http_rule.h"

namespace det::cli {

inline const Positional kModel = {"MODEL", "Model name or ID"};
inline const Option kOrder = {"order-by", 0, "asc|desc", "Sort order: asc or desc"};

// Returns the value of --order-by, or `default_order`. Returns a usage error for another word.
absl::StatusOr<api::v1::OrderBy> ReadOrder(const Invocation& run, api::v1::OrderBy default_order);

// Sets the fields of the options of create and register-version in either message. Returns a usage
// error if --metadata is not JSON.
template <class Message>
absl::Status ReadModelSettings(const Invocation& run, Message* message) {
  for (const std::string& label : run.args.GetAll("label")) message->add_labels(label);
  if (const auto text = run.args.Get("metadata")) {
    const absl::Status read = proto::FromJson(*text, message->mutable_metadata());
    if (!read.ok()) {
      return UsageError(absl::StrCat("--metadata: expected JSON: ", read.message()));
    }
  }
  return absl::OkStatus();
}

// Part of ModelCommands.
std::vector<Command> ModelVersionCommands();

}  // namespace det::cli

#endif  // CLI_COMMANDS_MODEL_H_
