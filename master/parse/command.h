// Parsing of the configurations of tasks that are not trials (docs/tasks.md).
//
// Called by the API services, on any thread.
#ifndef MASTER_PARSE_COMMAND_H_
#define MASTER_PARSE_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/core/model/command_config.h"
#include "master/core/model/states.h"
#include "master/core/model/value.h"
#include "master/parse/parse.h"

namespace det::model {

// What the installation and a template provide, the lowest first. A template may be one for
// experiments: fields that tasks do not have are skipped, and so are its slots and its resource
// pool, as existing clients expect.
struct CommandLayers {
  std::vector<ConfigLayer> defaults;   // task container defaults
  std::vector<ConfigLayer> templates;  // one or none
};

// Merges the layers with the document and validates the result. INVALID_ARGUMENT with all problems
// at once, a line each. `warnings`, in the same form, are about fields that this cluster ignores.
// `overrides` are as in BuildExperimentConfig.
absl::StatusOr<CommandConfig> BuildCommandConfig(const ConfigDocument& document,
                                                 const std::vector<std::string>& overrides,
                                                 const CommandLayers& layers,
                                                 std::vector<std::string>* warnings = nullptr);

// Returns the configuration of a generic task as it was submitted, as a JSON object: `document`
// over `base`, an earlier result, whose top-level members it replaces as a whole. `base` may be
// empty. INVALID_ARGUMENT with all members that generic tasks do not have.
absl::StatusOr<Value> MergeSubmittedConfig(const Value& base, const ConfigDocument& document,
                                           const std::vector<std::string>& overrides);

// Converts to the JSON object that existing clients read. `pool` and `priority` are the resolved
// ones.
Value ToShownValue(const CommandConfig& config, const std::string& pool, int priority);

// "1h30m0s", as existing clients write durations.
std::string FormatIdleTimeout(absl::Duration duration);

}  // namespace det::model

#endif  // MASTER_PARSE_COMMAND_H_
