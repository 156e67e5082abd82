#include "master/parse/parse.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/model/fields.h"
#include "master/parse/config_node.h"
#include "master/parse/merge.h"
#include "master/parse/problems.h"
#include "master/parse/read.h"
#include "master/parse/shape.h"

namespace det::model {
namespace {

// Reads a tree in the table's form.
ExperimentConfig FromTree(const ConfigNode& root, const ConfigDefaults& defaults,
                          std::vector<Problem>& problems) {
  ExperimentConfig config;
  config.name = defaults.name;
  config.checkpoint_storage.host_path = defaults.checkpoint_host_path;
  config.experiment_seed = defaults.experiment_seed;
  ReadFields(ExperimentFields(), root, &config, problems);
  CheckRules(root, config, problems);
  return config;
}

// Removes the problems that do not matter for an experiment that runs outside of the cluster.
void RemoveManagedOnly(std::vector<Problem>& problems) {
  std::erase_if(problems, [](const Problem& problem) {
    return problem.path == "entrypoint" || problem.path == "checkpoint_storage.container_path";
  });
}

// Returns the lists with built-in entries; an entry of the user with the same key replaces one.
ConfigNode BuiltIn() {
  Value::Object lists;
  for (const Field& field : Fields()) {
    if (field.merge == Field::Merge::kByKey) lists.emplace(field.path, GetDefault(field));
  }
  std::erase_if(lists, [](const auto& list) {
    return list.second.AsList()->empty() || list.first.find('.') != list.first.npos;
  });
  return FromValue(lists, "built in");
}

absl::StatusOr<ConfigNode> MergeLayer(ConfigNode low, const ConfigLayer& layer) {
  DET_ASSIGN_OR_RETURN(ConfigNode high, ReadYaml(layer.text, layer.name, true));
  DET_RETURN_IF_ERROR(CheckIsMap(high, layer.name));
  ToTableForm(high);
  return MergeConfig(std::move(low), high);
}

// Merges a user's document and its overrides over lower layers. An override replaces a list of the
// document, as if the user had changed it there; the layers below follow the merge rules.
absl::StatusOr<ConfigNode> MergeDocument(ConfigNode low, const ConfigDocument& document,
                                         const std::vector<std::string>& overrides) {
  ConfigNode own = document.root();
  ToTableForm(own);
  for (const std::string& text : overrides) DET_RETURN_IF_ERROR(ApplyOverride(text, own));
  return MergeConfig(std::move(low), own);
}

absl::StatusOr<ConfigNode> MergeLayers(const ConfigDocument& document,
                                       const std::vector<std::string>& overrides,
                                       const ConfigDefaults& defaults) {
  ConfigNode root = BuiltIn();
  for (const ConfigLayer& layer : defaults.below) {
    DET_ASSIGN_OR_RETURN(root, MergeLayer(std::move(root), layer));
  }
  DET_ASSIGN_OR_RETURN(root, MergeDocument(std::move(root), document, overrides));
  for (const ConfigLayer& layer : defaults.above) {
    DET_ASSIGN_OR_RETURN(root, MergeLayer(std::move(root), layer));
  }
  return root;
}

}  // namespace

absl::StatusOr<ConfigDocument> ConfigDocument::Parse(std::string_view yaml,
                                                     const std::string& path) {
  ConfigDocument document;
  document.source_ = path.empty() ? "configuration" : path;
  DET_ASSIGN_OR_RETURN(ConfigNode root, ReadYaml(yaml, document.source_, true));
  DET_RETURN_IF_ERROR(CheckIsMap(root, document.source_));
  document.text_ = std::make_shared<const std::string>(yaml);
  document.root_ = std::make_shared<const ConfigNode>(std::move(root));
  return document;
}

std::string ConfigDocument::Locate(std::string_view member) const {
  const ConfigNode* node = root_->FindPath(member);
  return node == nullptr ? source_ : node->where;
}

absl::StatusOr<ExperimentConfig> BuildExperimentConfig(const ConfigDocument& document,
                                                       const std::vector<std::string>& overrides,
                                                       const ConfigDefaults& defaults,
                                                       std::vector<std::string>* warnings) {
  DET_ASSIGN_OR_RETURN(ConfigNode root, MergeLayers(document, overrides, defaults));
  const bool empty = document.root().is_null() && overrides.empty();
  if (empty && root.Find("entrypoint") == nullptr && root.Find("searcher") == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        document.source(), ": the configuration is empty; set at least entrypoint and searcher"));
  }
  // Problems of the whole configuration have no line.
  root.where = document.source();
  std::vector<Problem> problems;
  std::vector<Problem> soft;
  ExperimentConfig config = FromTree(root, defaults, problems);
  CheckUnsupportedFields(root, config, problems, soft);
  if (defaults.unmanaged) RemoveManagedOnly(problems);
  DET_RETURN_IF_ERROR(ToStatus(std::move(problems)));
  if (warnings != nullptr) *warnings = ToLines(std::move(soft));
  return config;
}

absl::StatusOr<ExperimentConfig> ParseExperimentConfig(std::string_view yaml,
                                                       const std::string& path,
                                                       const std::vector<std::string>& overrides,
                                                       const ConfigDefaults& defaults,
                                                       std::vector<std::string>* warnings) {
  DET_ASSIGN_OR_RETURN(const ConfigDocument document, ConfigDocument::Parse(yaml, path));
  return BuildExperimentConfig(document, overrides, defaults, warnings);
}

absl::StatusOr<std::string> GetTextToStore(const ConfigDocument& document,
                                           const std::vector<ConfigLayer>& below,
                                           const std::vector<std::string>& overrides) {
  if (overrides.empty() && below.empty()) return document.text();
  ConfigNode root;
  for (const ConfigLayer& layer : below) {
    DET_ASSIGN_OR_RETURN(root, MergeLayer(std::move(root), layer));
  }
  DET_ASSIGN_OR_RETURN(root, MergeDocument(std::move(root), document, overrides));
  return root.ToValue().ToJson();
}

absl::StatusOr<ExperimentConfig> ExperimentConfigFromJson(std::string_view json) {
  DET_ASSIGN_OR_RETURN(const Value value, Value::FromJson(json));
  const std::string source = "configuration";
  ConfigNode root = FromValue(value, source);
  DET_RETURN_IF_ERROR(CheckIsMap(root, source));
  ToTableForm(root);
  std::vector<Problem> problems;
  ExperimentConfig config = FromTree(root, ConfigDefaults{}, problems);
  RemoveManagedOnly(problems);  // it was checked when the experiment was created
  DET_RETURN_IF_ERROR(ToStatus(std::move(problems)));
  return config;
}

}  // namespace det::model
