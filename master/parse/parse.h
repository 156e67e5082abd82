// From a user's text to a valid ExperimentConfig: YAML (JSON is a part of it), layers below and
// above it, --config overrides, defaults, validation. The only folder that includes yaml-cpp.
//
// Called by service (submission) and store (loading); on any thread. Never looks at files.
#ifndef MASTER_PARSE_PARSE_H_
#define MASTER_PARSE_PARSE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "master/core/model/experiment_config.h"

namespace det::model {

// A part of a configuration that is not the user's own.
struct ConfigLayer {
  std::string name;  // "template gpu": what messages call it
  std::string text;  // YAML; may be empty
};

// What the installation provides where the user says nothing.
struct ConfigDefaults {
  std::string name = "Experiment";
  std::string checkpoint_host_path;  // absolute
  uint32_t experiment_seed = 0;
  // Below the user's text, the lowest first: the scheduler's priority, the master's and the
  // workspace's checkpoint storage, task container defaults, the template.
  std::vector<ConfigLayer> below = {};
  // Above it: what a policy of the workspace, then of the cluster, does not leave to the user.
  std::vector<ConfigLayer> above = {};
};

// INVALID_ARGUMENT with all problems at once, a line each, in the order of the file:
//   const.yaml:12: resources.slots_per_trial: expected an integer >= 0, found "two"
// `path` is what messages call the text; empty: "configuration". Each override is "a.b.c=<yaml>",
// merges as a layer does (merge.h), and is named in messages as "--config a.b.c"; null takes away
// what is there. `warnings`, in the same form: what is kept, but without effect on this cluster.
absl::StatusOr<ExperimentConfig> ParseExperimentConfig(
    std::string_view yaml, const std::string& path, const std::vector<std::string>& overrides,
    const ConfigDefaults& defaults, std::vector<std::string>* warnings = nullptr);

// The user's own text with the layers below it and the overrides in it, to be kept; as JSON if
// there are any. For a text that was parsed before.
absl::StatusOr<std::string> TextToKeep(std::string_view yaml, const std::vector<ConfigLayer>& below,
                                       const std::vector<std::string>& overrides);

// Where the member "a.b.c" stands in a text that was read before: "const.yaml:12". The path alone
// where it stands nowhere. For what is found wrong only later.
std::string LocateInConfig(std::string_view yaml, const std::string& path, std::string_view member);

// The inverse of ToValue(config).ToJson(). Does not judge what the cluster can act on: it did once.
absl::StatusOr<ExperimentConfig> ExperimentConfigFromJson(std::string_view json);

}  // namespace det::model

#endif  // MASTER_PARSE_PARSE_H_
