#include "master/api/experiments/experiment_config.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/parse/template.h"

namespace det::api {

void AddTaskDefaults(const model::TaskDefaults& defaults, const std::string& pool,
                     std::vector<model::ConfigLayer>& layers) {
  if (!defaults.cluster.empty()) layers.push_back({"task_container_defaults", defaults.cluster});
  const auto own = defaults.pools.find(pool);
  if (own == defaults.pools.end()) return;
  layers.push_back({absl::StrCat("task_container_defaults of pool ", pool), own->second});
}

absl::Status CheckConfigSize(const std::string& what, size_t bytes) {
  if (bytes <= kMaxConfigBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", bytes, " bytes exceed the maximum of ",
                                                 kMaxConfigBytes,
                                                 "; put data into files of the context directory"));
}

void AddStorageLayer(const std::string& name, const std::string& storage,
                     std::vector<model::ConfigLayer>& layers) {
  if (storage.empty()) return;
  layers.push_back({name, absl::StrCat("{\"checkpoint_storage\": ", storage, "}")});
}

absl::StatusOr<ParsedConfig> ParseConfig(store::Store& store, const ConfigSubmission& submission) {
  size_t bytes = submission.yaml.size();
  for (const std::string& each : submission.overrides) bytes += each.size();
  DET_RETURN_IF_ERROR(
      CheckConfigSize(submission.path.empty() ? "configuration" : submission.path, bytes));
  std::vector<model::ConfigLayer> templates;
  std::vector<std::string> warnings;
  if (!submission.template_name.empty()) {
    DET_ASSIGN_OR_RETURN(const store::TemplateRecord record,
                         store.templates().GetTemplate(submission.template_name));
    DET_ASSIGN_OR_RETURN(std::string text,
                         model::ReadTemplateOfExperiment(record.yaml, record.name, warnings));
    templates.push_back({absl::StrCat("template ", record.name), std::move(text)});
  }
  DET_ASSIGN_OR_RETURN(model::ConfigDocument document,
                       model::ConfigDocument::Parse(submission.yaml, submission.path));
  return ParsedConfig{.document = std::move(document),
                      .overrides = submission.overrides,
                      .templates = std::move(templates),
                      .warnings = std::move(warnings),
                      .name = submission.name,
                      .seed = submission.seed,
                      .unmanaged = submission.unmanaged};
}

absl::StatusOr<ValidConfig> ValidateConfig(const ExperimentDefaults& experiment_defaults,
                                           const ParsedConfig& parsed, const ConfigScope& scope) {
  model::ConfigDefaults defaults;
  defaults.checkpoint_host_path = experiment_defaults.checkpoint_locations.own;
  defaults.experiment_seed = parsed.seed;
  defaults.name = parsed.name;
  defaults.unmanaged = parsed.unmanaged;
  AddStorageLayer("the master's checkpoint_storage", experiment_defaults.checkpoint_storage,
                  defaults.below);
  AddStorageLayer("workspace", scope.checkpoint_storage, defaults.below);
  AddTaskDefaults(experiment_defaults.task_defaults, scope.resource_pool, defaults.below);
  for (const model::ConfigLayer& each : parsed.templates) defaults.below.push_back(each);
  defaults.above = scope.policies;
  ValidConfig valid;
  DET_ASSIGN_OR_RETURN(valid.config, model::BuildExperimentConfig(parsed.document, parsed.overrides,
                                                                  defaults, &valid.warnings));
  valid.warnings.insert(valid.warnings.begin(), parsed.warnings.begin(), parsed.warnings.end());
  DET_RETURN_IF_ERROR(
      CheckConfigSize("the complete configuration", model::ToValue(valid.config).ToJson().size()));
  return valid;
}

}  // namespace det::api
