// From a user's text to a valid ExperimentConfig: YAML (JSON is a part of it), --config overrides,
// defaults, validation. The only folder that includes yaml-cpp.
//
// Called by service (submission) and store (loading); on any thread. Never looks at files.
#ifndef MASTER_MODEL_PARSE_PARSE_H_
#define MASTER_MODEL_PARSE_PARSE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "master/model/experiment_config.h"

namespace det::model {

// What the installation provides where the user says nothing.
struct ConfigDefaults {
  std::string name = "Experiment";
  std::string checkpoint_host_path;  // absolute
  uint32_t experiment_seed = 0;
};

// INVALID_ARGUMENT with all problems at once, a line each, in the order of the file:
//   const.yaml:12: resources.slots_per_trial: expected an integer >= 0, found "two"
// `path` is what messages call the text; empty: "configuration". Each override is
// "a.b.c=<yaml>", replaces what is there, and is named in messages as "--config a.b.c".
absl::StatusOr<ExperimentConfig> ParseExperimentConfig(std::string_view yaml,
                                                       const std::string& path,
                                                       const std::vector<std::string>& overrides,
                                                       const ConfigDefaults& defaults);

// Where the member "a.b.c" stands in a text that was read before: "const.yaml:12". The path alone
// where it stands nowhere. For what is found wrong only later.
std::string LocateInConfig(std::string_view yaml, const std::string& path, std::string_view member);

// The inverse of ToValue(config).ToJson().
absl::StatusOr<ExperimentConfig> ExperimentConfigFromJson(std::string_view json);

}  // namespace det::model

#endif  // MASTER_MODEL_PARSE_PARSE_H_
