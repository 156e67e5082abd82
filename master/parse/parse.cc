#include "master/parse/parse.h"

#include <algorithm>
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

// `root` is in the table's form.
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

// The lists that every experiment has something in; an entry of the user's replaces its like.
ConfigNode BuiltIn() {
  Value::Object lists;
  for (const Field& field : Fields()) {
    if (field.merge == Field::Merge::kByKey) lists.emplace(field.path, DefaultOf(field));
  }
  std::erase_if(lists, [](const auto& list) {
    return list.second.AsList()->empty() || list.first.find('.') != list.first.npos;
  });
  return FromValue(lists, "built in");
}

absl::StatusOr<ConfigNode> PutOver(ConfigNode low, const ConfigLayer& layer) {
  DET_ASSIGN_OR_RETURN(ConfigNode high, ReadYaml(layer.text, layer.name, true));
  DET_RETURN_IF_ERROR(CheckIsMap(high, layer.name));
  ToTableForm(high);
  return MergeConfig(std::move(low), high);
}

absl::StatusOr<ConfigNode> Stack(ConfigNode own, const std::vector<std::string>& overrides,
                                 const ConfigDefaults& defaults) {
  ConfigNode root = BuiltIn();
  for (const ConfigLayer& layer : defaults.below) {
    DET_ASSIGN_OR_RETURN(root, PutOver(std::move(root), layer));
  }
  ToTableForm(own);
  root = MergeConfig(std::move(root), own);
  for (const std::string& text : overrides) DET_RETURN_IF_ERROR(ApplyOverride(text, root));
  for (const ConfigLayer& layer : defaults.above) {
    DET_ASSIGN_OR_RETURN(root, PutOver(std::move(root), layer));
  }
  return root;
}

}  // namespace

absl::StatusOr<ExperimentConfig> ParseExperimentConfig(std::string_view yaml,
                                                       const std::string& path,
                                                       const std::vector<std::string>& overrides,
                                                       const ConfigDefaults& defaults,
                                                       std::vector<std::string>* warnings) {
  const std::string source = path.empty() ? "configuration" : path;
  DET_ASSIGN_OR_RETURN(ConfigNode own, ReadYaml(yaml, source, true));
  DET_RETURN_IF_ERROR(CheckIsMap(own, source));
  const bool empty = own.is_null() && overrides.empty();
  DET_ASSIGN_OR_RETURN(ConfigNode root, Stack(std::move(own), overrides, defaults));
  if (empty && root.Find("entrypoint") == nullptr && root.Find("searcher") == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": is empty; it needs at least entrypoint and searcher"));
  }
  // What concerns the whole is said without a line.
  root.where = source;
  std::vector<Problem> problems, soft;
  ExperimentConfig config = FromTree(root, defaults, problems);
  CheckHonoured(root, config, problems, soft);
  DET_RETURN_IF_ERROR(ToStatus(std::move(problems)));
  if (warnings != nullptr) *warnings = ToLines(std::move(soft));
  return config;
}

absl::StatusOr<std::string> TextToKeep(std::string_view yaml, const std::vector<ConfigLayer>& below,
                                       const std::vector<std::string>& overrides) {
  if (overrides.empty() && below.empty()) return std::string(yaml);
  ConfigNode root;
  for (const ConfigLayer& layer : below) {
    DET_ASSIGN_OR_RETURN(root, PutOver(std::move(root), layer));
  }
  DET_ASSIGN_OR_RETURN(root, PutOver(std::move(root), {"configuration", std::string(yaml)}));
  for (const std::string& text : overrides) DET_RETURN_IF_ERROR(ApplyOverride(text, root));
  return root.ToValue().ToJson();
}

std::string LocateInConfig(std::string_view yaml, const std::string& path,
                           std::string_view member) {
  const std::string source = path.empty() ? "configuration" : path;
  const absl::StatusOr<ConfigNode> root = ReadYaml(yaml, source, true);
  const ConfigNode* node = root.ok() ? root->FindPath(member) : nullptr;
  return node == nullptr ? source : node->where;
}

absl::StatusOr<ExperimentConfig> ExperimentConfigFromJson(std::string_view json) {
  DET_ASSIGN_OR_RETURN(const Value value, Value::FromJson(json));
  const std::string source = "configuration";
  ConfigNode root = FromValue(value, source);
  DET_RETURN_IF_ERROR(CheckIsMap(root, source));
  ToTableForm(root);
  std::vector<Problem> problems;
  ExperimentConfig config = FromTree(root, ConfigDefaults{}, problems);
  DET_RETURN_IF_ERROR(ToStatus(std::move(problems)));
  return config;
}

}  // namespace det::model
