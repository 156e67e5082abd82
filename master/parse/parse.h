// Parsing of an ExperimentConfig: YAML (which includes JSON), layers below and above it, --config
// overrides, defaults, validation. The only folder that includes yaml-cpp.
//
// Called by the API services (submission) and the store (loading), on any thread. Reads no files.
#ifndef MASTER_PARSE_PARSE_H_
#define MASTER_PARSE_PARSE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "master/core/model/experiment_config.h"

namespace det::model {

struct ConfigNode;

// A user's text after parsing, before layers are merged with it and it is validated: the tree of
// its values, each with its line. A caller that validates a text with several sets of layers parses
// it once. Immutable; copies share the tree.
class ConfigDocument {
 public:
  // `path` is the name of the text in messages; empty: "configuration". INVALID_ARGUMENT with the
  // line if the text is not YAML, or not a map.
  static absl::StatusOr<ConfigDocument> Parse(std::string_view yaml, const std::string& path);

  // Returns the position of the member "a.b.c": "const.yaml:12", or only the path if the text does
  // not contain it. For errors that are found after parsing.
  std::string Locate(std::string_view member) const;

  const std::string& text() const { return *text_; }
  // The name of the text in messages.
  const std::string& source() const { return source_; }
  // Private to master/parse.
  const ConfigNode& root() const { return *root_; }

 private:
  ConfigDocument() = default;

  std::shared_ptr<const std::string> text_;
  std::string source_;
  std::shared_ptr<const ConfigNode> root_;
};

// A part of a configuration that does not come from the user.
struct ConfigLayer {
  std::string name;  // the name in messages: "template gpu"
  std::string text;  // YAML; may be empty
};

// The values that the installation provides if the user sets none.
struct ConfigDefaults {
  std::string name = "Experiment";
  std::string checkpoint_host_path;  // absolute
  uint32_t experiment_seed = 0;
  // The experiment runs outside of the cluster: it needs no entrypoint, and its checkpoint storage
  // may be a relative path there.
  bool unmanaged = false;
  // Below the user's text, the lowest first: the scheduler's priority, the master's and the
  // workspace's checkpoint storage, task container defaults, the template.
  std::vector<ConfigLayer> below = {};
  // Above the user's text: the invariants of the policies of the workspace, then of the cluster.
  std::vector<ConfigLayer> above = {};
};

// Merges the layers with the document and validates the result. INVALID_ARGUMENT with all problems
// at once, a line each, in the order of the file:
//   const.yaml:12: resources.slots_per_trial: expected an integer >= 0, found "two"
// Each override is "a.b.c=<yaml>", merges like a layer (merge.h), and is named in messages as
// "--config a.b.c"; null removes a value. `warnings`, in the same form, are about fields that this
// cluster ignores.
absl::StatusOr<ExperimentConfig> BuildExperimentConfig(
    const ConfigDocument& document, const std::vector<std::string>& overrides,
    const ConfigDefaults& defaults, std::vector<std::string>* warnings = nullptr);

// Parses a text and builds its configuration, for callers that do so once.
absl::StatusOr<ExperimentConfig> ParseExperimentConfig(
    std::string_view yaml, const std::string& path, const std::vector<std::string>& overrides,
    const ConfigDefaults& defaults, std::vector<std::string>* warnings = nullptr);

// Returns the text to store: the user's text, or if there are layers below it or overrides, the
// merged configuration as JSON. REQUIRES that a configuration was built with them.
absl::StatusOr<std::string> GetTextToStore(const ConfigDocument& document,
                                           const std::vector<ConfigLayer>& below,
                                           const std::vector<std::string>& overrides);

// The inverse of ToValue(config).ToJson(). Does not check for unsupported fields again.
absl::StatusOr<ExperimentConfig> ExperimentConfigFromJson(std::string_view json);

}  // namespace det::model

#endif  // MASTER_PARSE_PARSE_H_
